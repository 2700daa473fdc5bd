import type { Route } from "../http/route.ts";
import type { Guard } from "../keys/keys.ts";
import { accountRoutes } from "./account-routes.ts";
import { appRoutes } from "./app-routes.ts";
import { budgetRequestRoutes } from "./budget-request-routes.ts";
import type { ConsoleDependencies } from "./console-dependencies.ts";
import { createSessionGuard } from "./console-guard.ts";
import { mountRoutes } from "./mount-routes.ts";
import { oidcRoutes } from "./oidc-routes.ts";
import { playgroundRoutes } from "./playground-routes.ts";
import { signInRoutes } from "./sign-in-routes.ts";
import { teamRoutes } from "./team-routes.ts";
import { versionRoutes } from "./version-routes.ts";

export { discoverProvider } from "./oidc.ts";
export { operatorViewRoutes } from "./operator-view.ts";
export { deleteExpiredSignIns, makeSignInLink } from "./sessions.ts";

/**
 * The console API: sign-in, accounts, team, connected apps, playground, and the management routes of /v1 mounted under each wallet with
 * a session instead of a key.
 */
export function consoleRoutes(dependencies: ConsoleDependencies, managementRoutes: (guard: Guard) => Route[]): Route[] {
  // The caller is unknown until the session is known.
  const mounted = mountRoutes(managementRoutes(createSessionGuard(dependencies))).map(
    (route): Route => ({ ...route, admission: "public" }),
  );
  return [
    ...signInRoutes(dependencies),
    ...oidcRoutes(dependencies),
    ...accountRoutes(dependencies),
    ...teamRoutes(dependencies),
    ...appRoutes(dependencies),
    ...budgetRequestRoutes(dependencies),
    ...playgroundRoutes(dependencies),
    ...versionRoutes(dependencies),
    ...mounted,
  ];
}
