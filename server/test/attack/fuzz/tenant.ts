/** By word: a few values each, the newest last. */
export type Tenant = Record<string, string[]>;
