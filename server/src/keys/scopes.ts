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

/** A scope that a key would grant without having it. Any management key can grant `search`. */
export function findMissingScope(own: readonly Scope[], granted: readonly Scope[]): Scope | undefined {
  return granted.find((scope) => scope !== "search" && !own.includes(scope));
}
