import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import { clock } from "./clock.ts";
import { Pennyblack, type PennyblackOptions, type RequestEvent, type ResponseEvent } from "./sdk.ts";

// Behaviour that clients/cases.json does not cover, because only this client has it or because it needs mocks.

// Remove the random backoff.
beforeEach(() => mock.method(Math, "random", () => 0));

/** A client whose attempts get these responses. The last one is repeated. */
function scriptedClient(steps: (Response | Error)[], options: Partial<PennyblackOptions> = {}) {
  const sent: { url: string; headers: Headers }[] = [];
  const fetch = (url: unknown, init: RequestInit = {}) => {
    sent.push({ url: String(url), headers: new Headers(init.headers) });
    const step = steps[sent.length - 1] ?? steps.at(-1);
    return step instanceof Response ? Promise.resolve(step.clone()) : Promise.reject(step ?? new Error("no step"));
  };
  const client = new Pennyblack({ apiKey: "pb_test_key", baseUrl: "http://api.test/base/", fetch, ...options });
  return { client, sent };
}

const overloaded = Response.json(
  { code: "overloaded", detail: "Overloaded.", retryable: true },
  { status: 503, headers: { "request-id": "r-1" } },
);
const success = Response.json({ query: "q", n: 0, results: [] }, { headers: { "wallet-charge": "0.01;currency=usd" } });
const closed = new TypeError("fetch failed", { cause: Object.assign(new Error("closed"), { code: "UND_ERR_SOCKET" }) });
const refused = new TypeError("fetch failed", { cause: Object.assign(new Error("no"), { code: "ECONNREFUSED" }) });

test("a refused connection is retried, even for a call that is not idempotent", async () => {
  const { client, sent } = scriptedClient([refused, Response.json({ id: "1", key: "pb_live_x" })]);
  assert.equal((await client.keys.rotate("1", { graceSeconds: 60 })).key, "pb_live_x");
  assert.deepEqual([sent.length, sent[0]?.url], [2, "http://api.test/base/v1/keys/1/rotate"]);
});

test("two searches never share an Idempotency-Key", async () => {
  const { client, sent } = scriptedClient([success]);
  await client.search("q");
  await client.search("q");
  assert.notEqual(sent[0]?.headers.get("idempotency-key"), sent[1]?.headers.get("idempotency-key"));
});

test("retries back off exponentially with full jitter", async (context) => {
  const delays: number[] = [];
  context.mock.method(Math, "random", () => 0.04);
  context.mock.method(clock, "sleep", (ms: number) => Promise.resolve(delays.push(ms)));
  const { client } = scriptedClient([overloaded], { maxRetries: 4 });
  await assert.rejects(client.search("q"), { code: "overloaded" });
  assert.deepEqual(delays, [10, 20, 40, 80]);
});

test("a top-up is retried with the same Idempotency-Key", async () => {
  const { client, sent } = scriptedClient([closed, Response.json({ id: "t-1" })]);
  await client.topUps.create({ amount: "20.00" });
  assert.equal(sent.length, 2);
  assert.equal(sent[0]?.headers.get("idempotency-key"), sent[1]?.headers.get("idempotency-key"));
});

test("the hooks see every attempt and the pause after it, but neither the key nor the query", async (context) => {
  context.mock.method(Math, "random", () => 0.5);
  context.mock.method(clock, "sleep", () => Promise.resolve());
  const events: string[] = [];
  const hooks = {
    onRequest: (event: RequestEvent) => events.push(JSON.stringify(event)),
    onResponse: ({ durationMs, ...event }: ResponseEvent) => {
      assert.ok(durationMs >= 0);
      events.push(JSON.stringify(event));
    },
  };
  const { client } = scriptedClient([closed, overloaded, success], hooks);
  await client.search("a secret query");
  const request = { method: "POST", url: "http://api.test/base/v1/search" };
  assert.deepEqual(
    events.map((event) => JSON.parse(event) as unknown),
    [
      { ...request, attempt: 1 },
      { ...request, attempt: 1, code: "connection_closed", retryInMs: 125 },
      { ...request, attempt: 2 },
      { ...request, attempt: 2, status: 503, requestId: "r-1", code: "overloaded", retryInMs: 250 },
      { ...request, attempt: 3 },
      { ...request, attempt: 3, status: 200 },
    ],
  );
  assert.doesNotMatch(events.join(), /pb_test_key|secret/);
});

test("an error in a hook does not lose a search that was charged", async () => {
  const fail = () => {
    throw new Error("hook failed");
  };
  const { client, sent } = scriptedClient([success], { onRequest: fail, onResponse: fail });
  assert.equal((await client.search("q")).meta.charge, "0.01");
  assert.equal(sent.length, 1);
});
