/** The values of each placeholder, newest last. */
export type Tenant = Record<string, string[]>;
