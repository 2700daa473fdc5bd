import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startHostileUpstream } from "../../test/support/upstreams/hostile-upstream.ts";
import { searxngAt } from "../../test/support/upstreams/searxng-at.ts";
import { NoResponse } from "../http/no-response.ts";
import { Problem } from "../problems/problems.ts";
import { createCaller } from "../providers/call-provider.ts";
import type { UpstreamFailure } from "../providers/provider.ts";
import { createFindHits, type Upstreams } from "./find-hits.ts";

const upstream = await startHostileUpstream();
const provider = searxngAt(upstream.url);
const caller = createCaller({ connectMs: 2_000, headersMs: 9_000, bodyMs: 5_000 });
const { signal } = new AbortController();
const calls = { recordSent: () => undefined, recordAnswer: () => undefined };
const upstreams: Upstreams = {
  live: async (search, options) => ({ answer: await caller.callProvider(provider, search, options), queried: 1 }),
  test: async () => assert.fail("a live search queried the test upstream"),
  requestedProblem: () => assert.fail("only test keys can request a problem"),
  testQueryWords: [],
};
const findHits = createFindHits(upstreams);

after(async () => {
  await caller.close();
  await upstream.close();
});

test("returns 504 upstream_timeout when the deadline passes, wherever the upstream stalls", async () => {
  for (const behaviour of ["slow_headers", "stall_in_body", "slow_drip"] as const) {
    await upstream.behave(behaviour);
    await assert.rejects(
      findHits("live", { query: "cats", n: 10 }, { calls, signal, deadlineMs: 80 }),
      (error: unknown) => {
        assert.ok(error instanceof Problem);
        assert.deepEqual(
          [error.code, error.status, error.retryable, error.retryAfterSeconds],
          ["upstream_timeout", 504, true, 2],
        );
        assert.match(error.headers["proxy-status"] ?? "", /^search; error=http_response_timeout/);
        return true;
      },
    );
  }
});

test("a timeout by the caller's own deadline is not retryable", async () => {
  await upstream.behave("slow_headers");
  await assert.rejects(
    findHits("live", { query: "cats", n: 10 }, { calls, signal, deadlineMs: 80, waitSeconds: 1 }),
    (error: unknown) => {
      assert.ok(error instanceof Problem);
      assert.deepEqual([error.status, error.members["deadline_set_by"]], [504, "caller"]);
      assert.deepEqual([error.retryable, error.retryAfterSeconds], [false, undefined]);
      return true;
    },
  );
});

test("a search that was not sent states that, with the failure that opened the circuit", async () => {
  const findBlocked = async (failure: Partial<UpstreamFailure>, waitSeconds?: number): Promise<Problem> => {
    const answer = {
      ok: false,
      provider: "brave",
      reason: "timeout",
      blockedBy: "circuit",
      tookMs: 0,
      ...failure,
    } as const;
    const find = createFindHits({ ...upstreams, live: async () => ({ answer, queried: 0 }) });
    const options = { calls, signal, deadlineMs: 80, waitSeconds };
    return find("live", { query: "cats", n: 10 }, options).then(
      () => assert.fail("it has no hits"),
      (error: unknown) => (error instanceof Problem ? error : assert.fail()),
    );
  };
  const timeout = await findBlocked({ retryAfterSeconds: 4, isDeadline: false }, 1);
  const advice = "Retry in 4 s, and do not answer from memory.";
  assert.equal(timeout.detail, `The search provider is failing and was not called. You were not charged. ${advice}`);
  assert.deepEqual([timeout.code, timeout.status, timeout.retryAfterSeconds], ["upstream_timeout", 504, 4]);
  assert.deepEqual([timeout.members["deadline_set_by"], timeout.headers["search-upstreams"]], ["server", "0"]);
  assert.equal(String(timeout.cause), "Error: brave: timeout, circuit open, not called");
  const empty = await findBlocked({ reason: "account_empty", upstreamStatus: 402, retryAfterSeconds: 200 });
  assert.deepEqual([empty.code, empty.status, empty.retryable], ["upstream_error", 502, false]);
  assert.match(empty.detail, /was not called\. You were not charged\. Do not retry, and do/);
});

test("returns the hits, the provider and the number of upstreams queried", async () => {
  await upstream.behave("ok");
  const found = await findHits("live", { query: "cats", n: 10 }, { calls, signal, deadlineMs: 5_000 });
  assert.deepEqual([found.hits.length, found.provider, found.queried], [10, "searxng", 1]);
});

test("returns upstream_not_configured without any upstream", async () => {
  const unconfigured = createFindHits({
    live: async () => ({ answer: undefined, queried: 0 }),
    test: async () => assert.fail("a live search queried the test upstream"),
    requestedProblem: () => undefined,
    testQueryWords: [],
  });
  await assert.rejects(
    unconfigured("live", { query: "cats", n: 10 }, { calls, signal, deadlineMs: 80 }),
    (error: unknown) => error instanceof Problem && error.code === "upstream_not_configured",
  );
});

test("rejects with NoResponse when the caller disconnects", async () => {
  const disconnected = new AbortController();
  await upstream.behave("slow_headers");
  const running = findHits("live", { query: "cats", n: 10 }, { calls, signal: disconnected.signal, deadlineMs: 5_000 });
  disconnected.abort();
  await assert.rejects(running, NoResponse);
});

test("the cause names the upstream, and the caller sees nothing of it", async () => {
  await upstream.behave("status_500", { body: "a secret of the upstream" });
  await assert.rejects(
    findHits("live", { query: "cats", n: 10 }, { calls, signal, deadlineMs: 5_000 }),
    (error: unknown) => {
      assert.ok(error instanceof Problem && error.cause instanceof Error);
      assert.match(error.cause.message, /^searxng: status after \d+ ms$/);
      assert.doesNotMatch(`${error.detail} ${JSON.stringify([error.members, error.headers])}`, /searxng|secret|cats/);
      return true;
    },
  );
});
