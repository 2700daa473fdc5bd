import type { Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import { apiRoutes, type ConsoleDependencies, walletPath } from "./console-dependencies.ts";
import { guardWallet } from "./console-guard.ts";

// Open pages poll this twice a second and reload their data when it changes, so an idle page costs four short statements
// per second: session checks and pb.own_version. A stream of events would need a connection per page, a query across
// tenants to fill it, and its own check that the session still exists.

export function versionRoutes(dependencies: ConsoleDependencies): Route[] {
  return apiRoutes(dependencies, [
    [
      "GET",
      `${walletPath}/version`,
      async (call) => {
        const { walletId } = await guardWallet(call);
        return { version: await dependencies.readVersion(walletId).catch(unavailable) };
      },
    ],
  ]);
}
