import type { KeyMode } from "./key-format.ts";

export type Scope = "search" | "wallet:read" | "wallet:write" | "keys:write" | "webhooks:write";

/** The scopes a key of each mode can have. */
export const scopesOf: Record<KeyMode, readonly Scope[]> = {
  live: ["search", "wallet:read"],
  test: ["search", "wallet:read"],
  mgmt: ["wallet:read", "wallet:write", "keys:write", "webhooks:write"],
};

/** The scopes of a new key by default. */
export const defaultScopes: Record<KeyMode, readonly Scope[]> = {
  live: ["search"],
  test: ["search"],
  mgmt: scopesOf.mgmt,
};

/**
 * The scopes that a key would grant without having them. `keys:write` includes granting `search`, which management keys
 * cannot have themselves.
 */
export function findMissingScopes(own: readonly Scope[], granted: readonly Scope[]): Scope[] {
  return granted.filter((scope) => scope !== "search" && !own.includes(scope));
}
