import type { KeyMode } from "./key-format.ts";

export type Scope = "search" | "wallet:read" | "wallet:write" | "keys:write" | "webhooks:write";

/** What a key of each mode may have: search keys search, management keys manage. Both may read the wallet. */
export const scopesOf: Record<KeyMode, readonly Scope[]> = {
  live: ["search", "wallet:read"],
  test: ["search", "wallet:read"],
  mgmt: ["wallet:read", "wallet:write", "keys:write", "webhooks:write"],
};

/** What it has unless told otherwise. */
export const defaultScopes: Record<KeyMode, readonly Scope[]> = {
  live: ["search"],
  test: ["search"],
  mgmt: scopesOf.mgmt,
};

/** A scope that a key would hand on without having it, if there is one. To let others search needs none. */
export function scopeToHandOn(own: readonly Scope[], wanted: readonly Scope[]): Scope | undefined {
  return wanted.find((scope) => scope !== "search" && !own.includes(scope));
}
