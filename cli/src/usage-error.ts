/** The person who typed can put it right. */
export class UsageError extends Error {}
