import type { Schema } from "./schema-values.ts";

export interface FuzzOperation {
  /** "GET /v1/keys/{id}" */
  name: string;
  listener: "public" | "internal";
  method: string;
  path: string;
  /** The key or session it needs; undefined for public routes. */
  credential: "search" | "mgmt" | "operator" | "session" | "disposable" | undefined;
  query: Record<string, Schema>;
  /** Whether it accepts or requires an Idempotency-Key. */
  idempotency: "none" | "optional" | "required";
  body: Schema | undefined;
  /** Its relative frequency. */
  weight: number;
}

/** A public operation without parameters, except for the given options. */
export function createOperation(method: string, path: string, options: Partial<FuzzOperation>): FuzzOperation {
  return {
    name: `${method} ${path}`,
    listener: "public",
    method,
    path,
    credential: undefined,
    query: {},
    idempotency: "none",
    body: undefined,
    weight: 5,
    ...options,
  };
}
