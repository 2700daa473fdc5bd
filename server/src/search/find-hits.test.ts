import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startHostileUpstream } from "../../test/hostile-upstream.ts";
import { NoAnswer } from "../http/no-answer.ts";
import { Problem } from "../problems.ts";
import { createCaller } from "../providers/call-provider.ts";
import type { AskOptions } from "../providers/provider.ts";
import { searxng } from "../providers/searxng.ts";
import { createFindHits } from "./find-hits.ts";

const upstream = await startHostileUpstream();
const provider = searxng({ baseUrl: upstream.url });
const caller = createCaller({ connectMs: 2_000, headersMs: 9_000, bodyMs: 5_000 });
const nobodyLeft = new AbortController().signal;
let given: AskOptions | undefined;
let deadlineMs = 5_000;

// As in app.ts, but with a deadline that a test can wait for.
const findHits = createFindHits({
  live: (search, options) => {
    given = options;
    return caller.callProvider(provider, search, { ...options, deadlineMs });
  },
  test: async () => assert.fail("a live search asked the test upstream"),
  askedProblem: () => assert.fail("only test keys may ask for a failure"),
});

after(async () => {
  await caller.close();
  await upstream.close();
});

test("our deadline passing is 504 upstream_timeout, wherever the upstream stands still", async () => {
  deadlineMs = 80;
  for (const behaviour of ["slow_headers", "stall_in_body", "slow_drip"] as const) {
    await upstream.behave(behaviour);
    await assert.rejects(findHits("live", { query: "cats", n: 10 }, nobodyLeft), (error: unknown) => {
      assert.ok(error instanceof Problem);
      assert.deepEqual(
        [error.code, error.status, error.retryable, error.retryAfterSeconds],
        ["upstream_timeout", 504, true, 2],
      );
      assert.match(error.headers["proxy-status"] ?? "", /^search; error=http_response_timeout/);
      return true;
    });
  }
});

test("an upstream has ten seconds in all", async () => {
  deadlineMs = 5_000;
  await upstream.behave("ok");
  assert.equal((await findHits("live", { query: "cats", n: 10 }, nobodyLeft)).length, 10);
  assert.equal(given?.deadlineMs, 10_000);
});

test("a caller who left gets no answer, and that is no failure of the upstream", async () => {
  const left = new AbortController();
  await upstream.behave("slow_headers");
  const running = findHits("live", { query: "cats", n: 10 }, left.signal);
  left.abort();
  await assert.rejects(running, NoAnswer);
});

test("the cause is for us and names the upstream; the caller reads nothing of it", async () => {
  await upstream.behave("status_500", { body: "a secret of the upstream" });
  await assert.rejects(findHits("live", { query: "cats", n: 10 }, nobodyLeft), (error: unknown) => {
    assert.ok(error instanceof Problem && error.cause instanceof Error);
    assert.match(error.cause.message, /^searxng: status after \d+ ms$/);
    assert.doesNotMatch(`${error.detail} ${JSON.stringify([error.members, error.headers])}`, /searxng|secret|cats/);
    return true;
  });
});
