import type { FastifyReply, FastifyRequest } from "fastify";
import type { TSchema } from "typebox";
import type { ProblemCode } from "../problems/problems.ts";

/** One route of the API: its handler, and its description for openapi.json. */
export interface Route {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  /** The scope a key needs, or "any" for every key. A route without a scope is public. */
  scope?: string;
  summary: string;
  description: string;
  requestHeaders?: Record<string, string>;
  query?: Record<string, TSchema>;
  requestBody?: TSchema;
  /** The schema of a successful response, or its media type if that is not JSON. */
  answer: TSchema | string;
  /** The status of a successful response, if it is not 200. */
  answerStatus?: 201;
  /**
   * "public": the request occupies a slot of the pool for unknown callers until its handler has finished or knows its
   * caller. "handler": the handler occupies a slot itself. Default: "handler" with a scope, "public" without.
   */
  admission?: "public" | "handler";
  /** Every problem this route can return. */
  problems: readonly ProblemCode[];
  handle(request: FastifyRequest, reply: FastifyReply): Promise<unknown>;
}

/** Problems of every route that reads a JSON body. */
export const bodyProblems: readonly ProblemCode[] = [
  "malformed_json",
  "invalid_request",
  "payload_too_large",
  "unsupported_media_type",
];

/** Problems of every route behind a management key. */
export const managementProblems: readonly ProblemCode[] = [
  "conflicting_credentials",
  "authentication_required",
  "api_key_invalid",
  "api_key_revoked",
  "api_key_expired",
  "insufficient_scope",
  "ip_not_allowed",
  "account_suspended",
  "rate_limited",
  "concurrency_limited",
  "internal_error",
  "ledger_unavailable",
];
