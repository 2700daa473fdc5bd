import type { Route } from "../http/route.ts";
import { walletPath } from "./console-dependencies.ts";

/** The management routes of /v1 below a wallet. Others are left out: the payment webhook, and what a key does for itself. */
export function mountRoutes(managementRoutes: readonly Route[]): Route[] {
  return managementRoutes
    .filter(({ scope }) => scope !== undefined && scope !== "any" && scope !== "budgets:request")
    .map((route) => ({ ...route, path: route.path.replace(/^\/v1/, walletPath) }));
}
