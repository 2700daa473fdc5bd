import type { Schema } from "./schema-values.ts";

export interface FuzzOperation {
  /** "GET /v1/keys/{id}" */
  name: string;
  listener: "public" | "internal";
  method: string;
  path: string;
  /** Which key or session opens it; nothing where anybody may enter. */
  opener: "search" | "mgmt" | "operator" | "session" | "leaver" | undefined;
  query: Record<string, Schema>;
  /** Whether it takes an Idempotency-Key, or cannot do without. */
  idempotency: "none" | "optional" | "required";
  body: Schema | undefined;
  /** How often it is drawn. */
  weight: number;
}
