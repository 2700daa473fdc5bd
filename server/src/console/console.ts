import type { Route } from "../http/route.ts";
import type { Enter } from "../keys/keys.ts";
import { accountRoutes } from "./account-routes.ts";
import { type ConsoleParts, walletPath } from "./console-parts.ts";
import { enterAsManager } from "./enter-console.ts";
import { oidcRoutes } from "./oidc-routes.ts";
import { playgroundRoute } from "./playground-route.ts";
import { signInRoutes } from "./sign-in-routes.ts";
import { teamRoutes } from "./team-routes.ts";

export { sendLetters } from "./letters.ts";
export { forgetSignIns, makeSignInLink } from "./sessions.ts";

/**
 * The API of the console's pages: who signs in, their team, and every management route of /v1 once more for each of
 * their wallets, with a session at the door instead of a key.
 */
export function consoleRoutes(parts: ConsoleParts, managementRoutes: (enter: Enter) => Route[]): Route[] {
  const mounted = managementRoutes(enterAsManager(parts))
    // The rest is not a wallet's: the processor's webhook, and the key that asks.
    .filter(({ scope }) => scope !== undefined && scope !== "any")
    .map((route) => ({ ...route, path: route.path.replace(/^\/v1/, walletPath) }));
  return [
    ...signInRoutes(parts),
    ...oidcRoutes(parts),
    ...accountRoutes(parts),
    ...teamRoutes(parts),
    playgroundRoute(parts),
    ...mounted,
  ];
}
