import type { FastifyReply, FastifyRequest } from "fastify";
import { type TSchema, Type } from "typebox";
import type { Problem, ProblemCode } from "../problems/problems.ts";
import type { ResponseHeader } from "./response-headers.ts";
import type { Tag } from "./tags.ts";

/** One route of the API: its handler, and its description for openapi.json. */
export interface Route {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  /** Runs a search. As a GET it has no HEAD, which would charge for a response without results. */
  isSearch?: boolean;
  /** The scope a key needs, or "any" for every key. A route without a scope is public. */
  scope?: string;
  /** Names the operation in generated clients: a verb and the resource, such as `listKeys`. */
  operationId: string;
  tag: Tag;
  summary: string;
  description: string;
  /** Optional and required request headers with their descriptions. */
  requestHeaders?: Record<string, string>;
  requiredHeaders?: Record<string, string>;
  query?: Record<string, TSchema>;
  requestBody?: TSchema;
  /** The schema of a successful response, or its media type if that is not JSON. */
  answer: TSchema | string;
  /** The status of a successful response, if it is not 200. */
  answerStatus?: 201;
  /** Headers of a successful response, in addition to those of every response. */
  answerHeaders?: readonly ResponseHeader[];
  /**
   * "public": the request occupies a slot of the pool for unknown callers until its handler has finished or knows its
   * caller, except while its body is received. "handler": the handler occupies a slot itself. Default: "handler" with a
   * scope, "public" without.
   */
  admission?: "public" | "handler";
  /** Every problem this route can return. */
  problems: readonly ProblemCode[];
  handle(request: FastifyRequest, reply: FastifyReply): Promise<unknown>;
  /** Called instead of `handle` if the server rejects the request because it is stopping or overloaded. */
  onRejected?: (problem: Problem) => void;
}

/** The methods that a route serves: HEAD wherever GET is. */
export function methodsOf({ method, isSearch }: Pick<Route, "method" | "isSearch">): string[] {
  return method === "GET" && !isSearch ? ["GET", "HEAD"] : [method];
}

export function isReading(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

/** Query parameters of lists. */
export const pageParameters = {
  cursor: Type.String({
    title: "Cursor",
    description: "`next_cursor` of the previous page. Repeat the other parameters.",
  }),
  limit: Type.Integer({
    title: "Limit",
    minimum: 1,
    maximum: 100,
    default: 50,
    description: "Maximum number of items per page.",
  }),
};

/** Field of lists. */
export const nextCursor = Type.Union([Type.String(), Type.Null()], {
  description: "Pass as `cursor` to get the next page. Null on the last page.",
});

/** Problems of every public route. */
export const publicProblems: readonly ProblemCode[] = [
  "concurrency_limited",
  "internal_error",
  "overloaded",
  "shutting_down",
];

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
  "overloaded",
  "shutting_down",
  "ledger_unavailable",
];
