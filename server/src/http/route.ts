import type { FastifyReply, FastifyRequest } from "fastify";
import type { TSchema } from "typebox";
import type { ProblemCode } from "../problems.ts";

/** One address of the API: what serves it, and all that openapi.json says of it. */
export interface Route {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  path: string;
  /** The scope a key needs; a route without one is public. */
  scope?: string;
  summary: string;
  description: string;
  requestHeaders?: Record<string, string>;
  query?: Record<string, TSchema>;
  requestBody?: TSchema;
  /** The body of a 200, or its media type if that is not JSON. */
  answer: TSchema | string;
  /** Every refusal this address can give. */
  problems: readonly ProblemCode[];
  handle(request: FastifyRequest, reply: FastifyReply): Promise<unknown>;
}
