import assert from "node:assert/strict";
import { test } from "node:test";
import type { FailureReason, UpstreamFailure } from "../providers/provider.ts";
import { reasonForStatus } from "../providers/reason-for-status.ts";
import { forwardFailure } from "./forward-failure.ts";

function failed(reason: FailureReason, more: Partial<UpstreamFailure> = {}): UpstreamFailure {
  return { ok: false, provider: "searxng", reason, tookMs: 12, ...more };
}

function forwardStatus(upstreamStatus: number, retryAfterSeconds?: number) {
  return forwardFailure(failed(reasonForStatus(upstreamStatus), { upstreamStatus, retryAfterSeconds }));
}

test("forwards every 4xx and 5xx except those that would mislead the caller", () => {
  const hidden: number[] = [];
  for (let status = 400; status <= 599; status += 1) {
    const forwarded = forwardStatus(status);
    assert.equal(forwarded.code, "upstream_error");
    assert.equal(forwarded.upstreamStatus, status);
    if (forwarded.status !== status) {
      assert.equal(forwarded.status, 502);
      hidden.push(status);
    }
  }
  assert.deepEqual(hidden, [401, 402, 405, 407, 426]);
});

test("never forwards 401, 402 or 407, regardless of the reason an adapter reports", () => {
  for (const upstreamStatus of [401, 402, 407]) {
    for (const reason of ["status", "throttled"] as const) {
      assert.equal(forwardFailure(failed(reason, { upstreamStatus })).status, 502);
    }
  }
});

test("returns 502 for a rejected credential or an empty account, regardless of the upstream's status", () => {
  for (const [reason, upstreamStatus] of [
    ["credential", 422],
    ["credential", 403],
    ["account_empty", 400],
    ["account_empty", 429],
  ] as const) {
    const forwarded = forwardFailure(failed(reason, { upstreamStatus, retryAfterSeconds: 3600 }));
    assert.equal(forwarded.status, 502);
    assert.equal(forwarded.code, "upstream_error");
    assert.equal(forwarded.upstreamStatus, upstreamStatus);
  }
});

test("an unusable answer or unreachable upstream is a 502, a timeout a 504", () => {
  const responses = (["invalid_response", "unreachable", "timeout"] as const).map((reason) => {
    const { code, status, retryable, retryAfterSeconds } = forwardFailure(failed(reason));
    return [code, status, retryable, retryAfterSeconds];
  });
  assert.deepEqual(responses, [
    ["upstream_invalid_response", 502, true, 2],
    ["upstream_unreachable", 502, true, 2],
    ["upstream_timeout", 504, true, 2],
  ]);
});

test("reports but never forwards the status of an unusable answer", () => {
  for (const upstreamStatus of [200, 204, 302, 304, 999]) {
    const forwarded = forwardFailure(failed("invalid_response", { upstreamStatus }));
    assert.equal(forwarded.status, 502);
    assert.equal(forwarded.upstreamStatus, upstreamStatus);
  }
});

test("does not forward a status outside 400 to 599, regardless of the reason an adapter reports", () => {
  for (const upstreamStatus of [undefined, 200, 302, 399, 600]) {
    assert.equal(forwardFailure(failed("throttled", { upstreamStatus })).status, 502);
  }
});

test("408, 425, 429 and every 5xx are retryable with Retry-After, unless our account with the upstream is the cause", () => {
  for (let status = 400; status <= 599; status += 1) {
    const forwarded = forwardStatus(status);
    const isOurAccount = [401, 402, 407].includes(status);
    const isRetryable = [408, 425, 429].includes(forwarded.status) || (forwarded.status >= 500 && !isOurAccount);
    assert.equal(forwarded.retryable, isRetryable, `${status}`);
    assert.equal(forwarded.retryAfterSeconds, isRetryable ? 2 : undefined, `${status}`);
  }
});

test("forwards the upstream's Retry-After for 429 and 503, limited to 1 to 120 seconds", () => {
  assert.equal(forwardStatus(429, 7).retryAfterSeconds, 7);
  assert.equal(forwardStatus(503, 0).retryAfterSeconds, 1);
  assert.equal(forwardStatus(503, 86_400).retryAfterSeconds, 120);
  assert.equal(forwardStatus(500, 60).retryAfterSeconds, 2);
  assert.equal(forwardStatus(404, 60).retryAfterSeconds, undefined);
});

test("a blocked search may be retried when the next call is sent, regardless of the status", () => {
  const blocked = { blockedBy: "circuit", retryAfterSeconds: 4 } as const;
  assert.equal(forwardFailure(failed("timeout", blocked)).retryAfterSeconds, 4);
  assert.equal(forwardFailure(failed("status", { ...blocked, upstreamStatus: 500 })).retryAfterSeconds, 4);
  assert.equal(forwardFailure(failed("account_empty", blocked)).retryAfterSeconds, undefined);
});
