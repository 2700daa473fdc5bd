import type { KeyMode } from "./key-format.ts";

/** The permissions of each scope, as in docs/api-keys.md. */
const descriptions = {
  search: "Searches",
  "wallet:read": "Reading the balance, entries, usage and searches",
  "wallet:write": "Top-ups, alerts and automatic top-ups",
  "keys:read": "Listing and reading keys",
  "keys:write": "Creating, changing, rotating and revoking keys. Includes `keys:read`",
  "webhooks:write": "Managing webhooks",
  "activity:read": "Reading who changed what",
  "budgets:request": "Asking a person to raise a shared budget of the key for some hours",
} as const;

export type Scope = keyof typeof descriptions;

/** The scopes a key of each mode can have. */
export const scopesOf: Record<KeyMode, readonly Scope[]> = {
  live: ["search", "wallet:read", "budgets:request"],
  test: ["search", "wallet:read", "budgets:request"],
  mgmt: ["wallet:read", "wallet:write", "keys:read", "keys:write", "webhooks:write", "activity:read"],
};

/** The table of docs/api-keys.md. */
export function renderScopes(): string {
  const rows = Object.entries(descriptions).map(([scope, description]) => {
    const modes = Object.entries(scopesOf).filter(([, scopes]) => scopes.some((each) => each === scope));
    return `| \`${scope}\` | ${description} | ${modes.map(([mode]) => (mode === "mgmt" ? "management" : mode)).join(", ")} |`;
  });
  return ["| Scope | Allows | Keys |", "|---|---|---|", ...rows].join("\n");
}

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

const onlyForSearchKeys = new Set<Scope>(["search", "budgets:request"]);

/**
 * The scopes that a key would grant without having them. `keys:write` includes granting those that management keys cannot have
 * themselves.
 */
export function findMissingScopes(own: readonly Scope[], granted: readonly Scope[]): Scope[] {
  return granted.filter((scope) => !onlyForSearchKeys.has(scope) && !hasScope(own, scope));
}
