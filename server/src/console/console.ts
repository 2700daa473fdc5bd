import type { Route } from "../http/route.ts";
import type { Guard } from "../keys/keys.ts";
import { accountRoutes } from "./account-routes.ts";
import { appRoutes } from "./app-routes.ts";
import { type ConsoleDependencies, walletPath } from "./console-dependencies.ts";
import { createSessionGuard } from "./console-guard.ts";
import { oidcRoutes } from "./oidc-routes.ts";
import { playgroundRoutes } from "./playground-routes.ts";
import { signInRoutes } from "./sign-in-routes.ts";
import { teamRoutes } from "./team-routes.ts";
import { versionRoutes } from "./version-routes.ts";

export { discoverProvider } from "./oidc.ts";
export { deleteExpiredSignIns, makeSignInLink } from "./sessions.ts";

/**
 * The console API: sign-in, accounts, team, connected apps, playground, and the management routes of /v1 mounted under each wallet with
 * a session instead of a key.
 */
export function consoleRoutes(dependencies: ConsoleDependencies, managementRoutes: (guard: Guard) => Route[]): Route[] {
  const mounted = managementRoutes(createSessionGuard(dependencies))
    // Skip routes that do not belong to a wallet: the payment webhook and the key's own details.
    .filter(({ scope }) => scope !== undefined && scope !== "any")
    // Until the session is known, its caller is not.
    .map((route) => ({ ...route, path: route.path.replace(/^\/v1/, walletPath), admission: "public" as const }));
  return [
    ...signInRoutes(dependencies),
    ...oidcRoutes(dependencies),
    ...accountRoutes(dependencies),
    ...teamRoutes(dependencies),
    ...appRoutes(dependencies),
    ...playgroundRoutes(dependencies),
    ...versionRoutes(dependencies),
    ...mounted,
  ];
}
