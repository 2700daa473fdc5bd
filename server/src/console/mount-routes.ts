import type { Route } from "../http/route.ts";
import { walletPath } from "./console-dependencies.ts";

/** The management routes of /v1 below a wallet. Routes that do not belong to one are left out: the payment webhook, a key's own details. */
export function mountRoutes(managementRoutes: readonly Route[]): Route[] {
  return managementRoutes
    .filter(({ scope }) => scope !== undefined && scope !== "any")
    .map((route) => ({ ...route, path: route.path.replace(/^\/v1/, walletPath) }));
}
