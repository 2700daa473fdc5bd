import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startHostileUpstream } from "../../test/hostile-upstream.ts";
import { searxngAt } from "../../test/searxng-at.ts";
import { NoAnswer } from "../http/no-answer.ts";
import { Problem } from "../problems.ts";
import { createCaller } from "../providers/call-provider.ts";
import { createFindHits } from "./find-hits.ts";

const upstream = await startHostileUpstream();
const provider = searxngAt(upstream.url);
const caller = createCaller({ connectMs: 2_000, headersMs: 9_000, bodyMs: 5_000 });
const { signal } = new AbortController();
const findHits = createFindHits({
  live: async (search, options) => ({ answer: await caller.callProvider(provider, search, options), asked: 1 }),
  test: async () => assert.fail("a live search asked the test upstream"),
  askedProblem: () => assert.fail("only test keys may ask for a failure"),
});

after(async () => {
  await caller.close();
  await upstream.close();
});

test("our deadline passing is 504 upstream_timeout, wherever the upstream stands still", async () => {
  for (const behaviour of ["slow_headers", "stall_in_body", "slow_drip"] as const) {
    await upstream.behave(behaviour);
    await assert.rejects(findHits("live", { query: "cats", n: 10 }, { signal, deadlineMs: 80 }), (error: unknown) => {
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

test("the hits come with who found them, which is for the operator, and how many were asked", async () => {
  await upstream.behave("ok");
  const { hits, provider, asked } = await findHits("live", { query: "cats", n: 10 }, { signal, deadlineMs: 5_000 });
  assert.deepEqual([hits.length, provider, asked], [10, "searxng", 1]);
});

test("without any upstream it is known that none is configured", async () => {
  const unconfigured = createFindHits({
    live: async () => ({ answer: undefined, asked: 0 }),
    test: async () => assert.fail("a live search asked the test upstream"),
    askedProblem: () => undefined,
  });
  await assert.rejects(
    unconfigured("live", { query: "cats", n: 10 }, { signal, deadlineMs: 80 }),
    (error: unknown) => error instanceof Problem && error.code === "upstream_not_configured",
  );
});

test("a caller who left gets no answer, and that is no failure of the upstream", async () => {
  const left = new AbortController();
  await upstream.behave("slow_headers");
  const running = findHits("live", { query: "cats", n: 10 }, { signal: left.signal, deadlineMs: 5_000 });
  left.abort();
  await assert.rejects(running, NoAnswer);
});

test("the cause is for us and names the upstream; the caller reads nothing of it", async () => {
  await upstream.behave("status_500", { body: "a secret of the upstream" });
  await assert.rejects(findHits("live", { query: "cats", n: 10 }, { signal, deadlineMs: 5_000 }), (error: unknown) => {
    assert.ok(error instanceof Problem && error.cause instanceof Error);
    assert.match(error.cause.message, /^searxng: status after \d+ ms$/);
    assert.doesNotMatch(`${error.detail} ${JSON.stringify([error.members, error.headers])}`, /searxng|secret|cats/);
    return true;
  });
});
