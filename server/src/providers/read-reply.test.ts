import assert from "node:assert/strict";
import { test } from "node:test";
import { searxngAt } from "../../test/searxng-at.ts";
import type { ParsedReply, Provider } from "./provider.ts";
import { readReply } from "./read-reply.ts";

const found: ParsedReply = { ok: true, hits: [], more: false };
const nowMs = 0;

function adapterThatSays(parsed: ParsedReply): Provider {
  return { ...searxngAt("https://search.example.org"), response: () => parsed };
}

function read(status: number, headers: Record<string, string>, parsed: ParsedReply = found) {
  return readReply(adapterThatSays(parsed), { status, headers, body: "" }, nowMs);
}

test("only a plain JSON 2xx can be a success", () => {
  for (const type of [
    "application/json",
    "application/json; charset=utf-8",
    "Application/JSON",
    "application/hal+json",
  ]) {
    assert.equal(read(200, { "content-type": type }).ok, true, type);
  }
  for (const type of ["text/html", "text/plain; application/json", "application/jsonp", ""]) {
    assert.deepEqual(read(200, { "content-type": type }), { ok: false, reason: "invalid_response" }, type);
  }
  assert.equal(read(200, {}).ok, false);
  assert.equal(read(200, { "content-type": "application/json", "content-encoding": "gzip" }).ok, false);
});

test("an adapter cannot make a success of any other status", () => {
  for (const status of [300, 302, 304, 400, 404, 429, 500, 599, 600, 999]) {
    assert.equal(read(status, { "content-type": "application/json" }).ok, false, `${status}`);
  }
  for (const status of [300, 302, 304, 600, 999]) {
    const parsed = read(status, { "content-type": "application/json" }, { ok: false, reason: "throttled" });
    assert.deepEqual(parsed, { ok: false, reason: "invalid_response" }, `${status}`);
  }
});

test("what the adapter knows about waiting wins over the header", () => {
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
