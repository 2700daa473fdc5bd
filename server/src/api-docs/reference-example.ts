/** A request to an operation and its response, recorded by `npm run docs:examples`. */
export interface ReferenceExample {
  path?: Record<string, string>;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: unknown;
  status: number;
  /** Absent for HTML and for openapi.json itself. */
  response?: unknown;
}

/** A JSON value as TypeScript, on one line. */
export function toLiteral(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toLiteral).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, member]) => `${name}: ${toLiteral(member)}`);
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
}
