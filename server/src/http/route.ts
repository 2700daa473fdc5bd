import type { FastifyReply, FastifyRequest } from "fastify";
import type { TSchema } from "typebox";
import type { ProblemCode } from "../problems.ts";

/** One address of the API: what serves it, and all that openapi.json says of it. */
export interface Route {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  /** The scope a key needs, or "any" if every key will do; a route without one is public. */
  scope?: string;
  summary: string;
  description: string;
  requestHeaders?: Record<string, string>;
  query?: Record<string, TSchema>;
  requestBody?: TSchema;
  /** The body of a 200, or its media type if that is not JSON. */
  answer: TSchema | string;
  /** The status of that answer, if it is not 200. */
  answerStatus?: 201;
  /** Every refusal this address can give. */
  problems: readonly ProblemCode[];
  handle(request: FastifyRequest, reply: FastifyReply): Promise<unknown>;
}

/** What every address that reads a JSON body can refuse with. */
export const bodyProblems: readonly ProblemCode[] = [
  "malformed_json",
  "invalid_request",
  "payload_too_large",
  "unsupported_media_type",
];

/** What every address behind a management key can refuse with. */
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
