import type { KeyMode } from "./key-format.ts";

export type Scope = "search" | "wallet:read" | "wallet:write" | "keys:read" | "keys:write" | "webhooks:write";

/** The scopes a key of each mode can have. */
export const scopesOf: Record<KeyMode, readonly Scope[]> = {
  live: ["search", "wallet:read"],
  test: ["search", "wallet:read"],
  mgmt: ["wallet:read", "wallet:write", "keys:read", "keys:write", "webhooks:write"],
};

/** The scopes of a new key by default. Without `keys:read`, which `keys:write` includes. */
export const defaultScopes: Record<KeyMode, readonly Scope[]> = {
  live: ["search"],
  test: ["search"],
  mgmt: scopesOf.mgmt.filter((scope) => scope !== "keys:read"),
};

/** `keys:write` includes `keys:read`; pb.can_grant_scopes has the same rule. */
export function hasScope(own: readonly Scope[], scope: Scope): boolean {
  return own.includes(scope) || (scope === "keys:read" && own.includes("keys:write"));
}

/**
 * The scopes that a key would grant without having them. `keys:write` includes granting `search`, which management keys
 * cannot have themselves.
 */
export function findMissingScopes(own: readonly Scope[], granted: readonly Scope[]): Scope[] {
  return granted.filter((scope) => scope !== "search" && !hasScope(own, scope));
}
