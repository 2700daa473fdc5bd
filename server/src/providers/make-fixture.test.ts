import assert from "node:assert/strict";
import { test } from "node:test";
import { switchOn, testKey } from "../../test/support/upstreams/provider-fixtures.ts";
import { brave } from "./brave.ts";
import { createRedactor, makeFixture } from "./make-fixture.ts";
import { opensearch } from "./opensearch.ts";

const search = { query: "cats", n: 10 };
const provider = switchOn(brave);
const call = provider.request(search, 1);
const recordedAt = new Date("2026-11-15T03:00:00Z");

test("a fixture keeps what adapters read and nothing that identifies the operator", () => {
  const headers = {
    "content-type": "application/json",
    "x-ratelimit-reset": "1, 2",
    "set-cookie": "session=1",
    "x-request-id": "4711",
    "x-amzn-trace-id": "4712",
  };
  const body = {
    id: "2f9e1c3a-8f57-4b3e-9d55-0c1f3a9b7e21",
    requestId: "short",
    detail: `the key ${testKey} is wrong`,
    results: [{ url: "https://example.org/", id: 7 }],
  };
  const fixture = makeFixture({ provider, call, recordedAt }, { status: 422, headers, body: JSON.stringify(body) });
  assert.deepEqual(fixture, {
    recorded_from: provider.documentation,
    recorded_at: "2026-11-15",
    status: 422,
    headers: { "content-type": "application/json", "x-ratelimit-reset": "1, 2" },
    body: { id: "removed", requestId: "removed", detail: "the key [removed] is wrong", results: body.results },
  });
});

test("keeps a body that is not JSON as text", () => {
  const reply = { status: 503, headers: {}, body: `<h1>${testKey}</h1>` };
  assert.equal(makeFixture({ provider, call, recordedAt }, reply).body, "<h1>[removed]</h1>");
});

test("redacts the key whole, shortened, repeated and next to other text", () => {
  const redactKey = createRedactor(call);
  assert.equal(redactKey(`"${testKey}","${testKey}"`), '"[removed]","[removed]"');
  assert.equal(redactKey(`${testKey.slice(0, 9)}...${testKey.slice(-8)}`), "[removed]...[removed]");
  assert.equal(redactKey(`${testKey}${testKey}`), "[removed]");
  assert.equal(redactKey("key-to a text"), "key-to a text");
});

test("redacts a password in plain text and in base64", () => {
  const secret = switchOn(opensearch, { key: "reader:hunter2!" }).request(search, 1);
  const redactKey = createRedactor(secret);
  assert.equal(redactKey("reader hunter2! tried"), "reader [removed] tried");
  assert.ok(!redactKey(JSON.stringify(secret.headers)).includes("cmVhZGVy"));
});
