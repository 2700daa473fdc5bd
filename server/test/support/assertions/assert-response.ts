import assert from "node:assert/strict";
import { type ProblemCode, problemRow } from "../../../src/problems/problems.ts";

const uuidVersion7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Headers of every response, including errors and responses to malformed HTTP. */
export function assertCommonHeaders(headers: Headers, charge = "0.00"): void {
  assert.match(headers.get("request-id") ?? "no Request-Id", uuidVersion7);
  assert.equal(headers.get("cache-control"), "no-store");
  assert.equal(headers.get("wallet-charge"), `${charge};currency=usd`);
  assert.equal(headers.get("x-content-type-options"), "nosniff");
  assert.match(headers.get("content-security-policy") ?? "no policy", /^default-src 'none'; frame-ancestors 'none'/);
  assert.equal(headers.get("referrer-policy"), "no-referrer");
  assert.match(headers.get("strict-transport-security") ?? "none", /^max-age=\d{8,}$/);
  assert.equal(headers.get("cross-origin-resource-policy"), "same-origin");
  assert.equal(headers.get("access-control-allow-origin"), null);
  assert.equal(headers.get("server"), null);
  assert.equal(headers.get("x-powered-by"), null);
}

/** The key's limit and the rest of it, in the syntax of the IETF draft. */
export function assertRateLimitHeaders(headers: Headers, searchesPerSecond: number): void {
  assert.equal(headers.get("ratelimit-policy"), `"key";q=${searchesPerSecond};w=1`);
  assert.match(headers.get("ratelimit") ?? "none", /^"key";r=\d+;t=1$/);
}

interface ProblemAnswer {
  status: number;
  headers: Headers;
  text: string;
}

/** An RFC 9457 problem as the API documents it. Returns the body. */
export function assertProblem(
  answer: ProblemAnswer,
  code: ProblemCode,
  instance = "/v1/search",
): Record<string, unknown> {
  assertCommonHeaders(answer.headers);
  assert.match(answer.headers.get("content-type") ?? "", /^application\/problem\+json\b/);
  const body = JSON.parse(answer.text) as Record<string, unknown>;
  assert.equal(body["code"], code, answer.text);
  assert.equal(body["type"], `http://search.test/problems/${code}`);
  assert.equal(body["title"], problemRow(code).title);
  assert.equal(body["status"], answer.status);
  assert.equal(body["instance"], instance);
  assert.equal(body["request_id"], answer.headers.get("request-id"));
  assert.equal(body["charged"], false);
  assert.equal(typeof body["retryable"], "boolean");
  assert.ok(typeof body["detail"] === "string" && body["detail"].length > 10);
  assert.doesNotMatch(body["detail"], /\{\w+\}|undefined/);
  return body;
}
