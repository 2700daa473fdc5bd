import assert from "node:assert/strict";
import { test } from "node:test";
import { createFixture } from "../fixture.ts";
import { createTestKey, type Reply } from "../support/services/server.ts";
import { authenticationMistakes } from "./newcomer-mistakes/authentication.ts";
import { jsonMistakes } from "./newcomer-mistakes/malformed-json.ts";
import { managementMistakes } from "./newcomer-mistakes/management.ts";
import { correctIt, type Faults, notCharged } from "./newcomer-mistakes/mistake.ts";
import { pathAndHeaderMistakes } from "./newcomer-mistakes/paths-and-headers.ts";
import { fieldMistakes } from "./newcomer-mistakes/search-fields.ts";

// Typical mistakes of newcomers, and the exact response to each, in the tables of newcomer-mistakes/. A response must be
// enough to correct the request without opening the documentation.

const { db, server, upstream, createWallet } = await createFixture({ PENNYBLACK_SIGNING_KEYS: "" });
const wallet = await createWallet("1.00");
const { live: poor } = await createWallet("0.00");
const { walletId, live, test: testKey, management } = wallet;
const { key: reader } = await createTestKey(db, { walletId, mode: "mgmt", scopes: ["wallet:read"] });
const context = { server, live, testKey, management, reader, poor };

const mistakes = [
  ...authenticationMistakes,
  ...jsonMistakes,
  ...fieldMistakes,
  ...pathAndHeaderMistakes,
  ...managementMistakes,
];

for (const [name, send, outcome, detail, faults] of mistakes) {
  test(name, async () => {
    const reply = await send(context);
    const { body } = reply;
    assert.equal(`${reply.status} ${body.code}`, outcome);
    const ending = (isSearch(reply) ? notCharged : "") + correctIt;
    assert.equal(body.detail, body.code === "invalid_request" ? detail + ending : detail);
    assert.deepEqual(body.errors, toErrors(body.code, detail, faults));
    assertHelpful(reply);
  });
}

/** The only error of malformed JSON is the first sentence of its detail. */
function toErrors(code: string, detail: string, faults: Faults | undefined): unknown {
  const [sentence = ""] = detail.split(". You were not charged.");
  const all = code === "malformed_json" ? [["#", code, sentence]] : faults;
  return all?.map(([pointer, faultCode, faultDetail]) => ({ pointer, code: faultCode, detail: faultDetail }));
}

/** Phrases of JSON Schema validators, and of JSON.parse. */
const validatorPhrases =
  /required propert|additional ?[Pp]ropert|must NOT|must match|must be equal to|anyOf|instancePath|Unexpected token|JSON input/;

function isSearch({ body }: Reply): boolean {
  return body.instance === "/v1/search" && body.code !== "method_not_allowed";
}

function assertHelpful(reply: Reply): void {
  const { status, headers, text, body } = reply;
  assert.match(headers.get("content-type") ?? "", /^application\/problem\+json/);
  assert.equal(body.charged, false);
  assert.equal(body.status, status);
  assert.doesNotMatch(text, /\{\w+\}|undefined|NaN|\[object/, "a placeholder");
  assert.doesNotMatch(text, validatorPhrases, "a phrase of the validator");
  for (const key of [live, testKey, management]) assert.ok(!text.includes(key.slice(8)), "a key in the response");
  assert.equal(body.detail.includes("You were not charged"), isSearch(reply), "only a search can be charged");
  assert.ok(body.detail.split(/(?<=[.?]) (?=[A-Z`])/).length <= 3, "more than three sentences");
  // Only the operator or a provider can be the cause of a 5xx, except for the caller's own deadline.
  if (status < 500 || body.deadline_set_by === "caller") assert.doesNotMatch(body.detail, /provider|upstream|ledger/);
  if (status === 405) assert.ok(headers.get("allow"));
  assert.equal(headers.has("retry-after"), body.retryable, "Retry-After without a reason to retry");
}

test("none of these mistakes was charged or reached an upstream", async () => {
  assert.deepEqual(await server.readMoney(management), { balance: "1.00", held: "0.00" });
  assert.equal(upstream.requests.length, 0);
});

test("Rank-Explain accepts 1 and true", async () => {
  for (const value of ["1", "true", "True"]) {
    const { status, headers, text } = await server.search(testKey, { query: "cats" }, { "rank-explain": value });
    assert.deepEqual([status, headers.has("rank-explain")], [200, true], `${value}: ${text}`);
  }
  for (const value of ["0", "false"]) {
    const { status, headers } = await server.search(testKey, { query: "cats" }, { "rank-explain": value });
    assert.deepEqual([status, headers.has("rank-explain")], [200, false], value);
  }
});

test("a timeout names the owner of the deadline", async () => {
  const callers = await server.search(testKey, { query: "test:slow=5000" }, { prefer: "wait=1" });
  assert.equal(callers.body.deadline_set_by, "caller");
  // A simulated timeout is the server's, regardless of the caller's preference.
  const servers = await server.search(testKey, { query: "test:upstream_timeout" }, { prefer: "wait=1" });
  assert.equal(servers.body.deadline_set_by, "server");
  assert.match(servers.body.detail, /the server's deadline/);
});

test("a budget that a test query reports as spent resets in the future", async () => {
  for (const code of ["run_budget_spent", "key_budget_spent"]) {
    const { body } = await server.search(testKey, { query: `test:${code}` });
    assert.ok(Date.parse(body.resets_at) > Date.now(), `${code}: ${body.resets_at}`);
    assert.equal(body.spent, body.limit);
  }
});
