import assert from "node:assert/strict";
import { test } from "node:test";
import { searxngAt } from "../../test/support/upstreams/searxng-at.ts";
import type { ParsedReply, Provider } from "./provider.ts";
import { readReply } from "./read-reply.ts";

const found: ParsedReply = { ok: true, hits: [], more: false };
const nowMs = 0;

function adapterReturning(parsed: ParsedReply): Provider {
  return { ...searxngAt("https://search.example.org"), response: () => parsed };
}

function read(status: number, headers: Record<string, string>, parsed: ParsedReply = found) {
  return readReply(adapterReturning(parsed), { status, headers, body: "" }, nowMs);
}

test("only an uncompressed JSON 2xx can be a success", () => {
  const json = ["application/json", "application/json; charset=utf-8", "Application/JSON", "application/hal+json"];
  for (const type of json) assert.equal(read(200, { "content-type": type }).ok, true, type);
  for (const type of ["text/html", "text/plain; application/json", "application/jsonp", ""]) {
    assert.deepEqual(read(200, { "content-type": type }), { ok: false, reason: "invalid_response" }, type);
  }
  assert.equal(read(200, {}).ok, false);
  assert.equal(read(200, { "content-type": "application/json", "content-encoding": "gzip" }).ok, false);
});

test("an adapter cannot turn any other status into a success", () => {
  for (const status of [300, 302, 304, 400, 404, 429, 500, 599, 600, 999]) {
    assert.equal(read(status, { "content-type": "application/json" }).ok, false, `${status}`);
  }
  for (const status of [300, 302, 304, 600, 999]) {
    const parsed = read(status, { "content-type": "application/json" }, { ok: false, reason: "throttled" });
    assert.deepEqual(parsed, { ok: false, reason: "invalid_response" }, `${status}`);
  }
});

test("the adapter's retry delay takes precedence over the Retry-After header", () => {
  const headers = { "retry-after": "30" };
  assert.deepEqual(read(429, headers, { ok: false, reason: "throttled" }), {
    ok: false,
    reason: "throttled",
    retryAfterSeconds: 30,
  });
  assert.deepEqual(read(429, headers, { ok: false, reason: "throttled", retryAfterSeconds: 4 }), {
    ok: false,
    reason: "throttled",
    retryAfterSeconds: 4,
  });
});
