import assert from "node:assert/strict";
import { test } from "node:test";
import type { FailureReason, UpstreamAnswer } from "../providers/provider.ts";
import { createStartCalls } from "./search-calls.ts";

interface Played {
  outcome: "ok" | FailureReason;
  isSent?: boolean;
  isOpen?: boolean;
  isDeadline?: boolean;
  upstreamStatus?: number | undefined;
}

interface Options {
  wait?: number;
  isPaid?: boolean;
  mode?: "live" | "test";
}

/** Plays a search with these calls, and returns what was recorded. */
async function play(calls: Played[], { wait, isPaid = false, mode = "live" }: Options = {}) {
  const records: string[] = [];
  const startCalls = createStartCalls({
    unpaidLimit: { enter: async () => (result) => void records.push(`limit ${result.unpaidCalls} ${result.isPaid}`) },
    tally: {
      recordSent(call) {
        records.push(`sent ${call.provider} ${call.cost}`);
        return { ...call, hour: "" };
      },
      recordPaid: ({ provider }) => void records.push(`paid ${provider}`),
      recordAbandoned: ({ provider }) => void records.push(`abandoned ${provider}`),
    },
    metrics: {
      countUpstreamCost: () => undefined,
      countUnpaidCall: (upstream, cause) => void records.push(`unpaid ${upstream} by ${cause}`),
    },
  });
  const search = await startCalls({ walletId: "wallet", mode }, wait);
  for (const [
    index,
    { outcome, isSent = true, isOpen = false, isDeadline = outcome === "timeout", upstreamStatus },
  ] of calls.entries()) {
    const provider = `p${index}`;
    if (isSent) search.recordSent(provider, 5_000n);
    const answer: UpstreamAnswer =
      outcome === "ok"
        ? { ok: true, provider, hits: [], tookMs: 1 }
        : { ok: false, provider, reason: outcome, isDeadline, upstreamStatus, tookMs: 1 };
    search.recordAnswer(answer, isOpen);
  }
  search.end(isPaid);
  return records.filter((record) => !record.startsWith("sent"));
}

test("books the cost when the call is sent, before its outcome is known", async () => {
  const sent: unknown[] = [];
  const startCalls = createStartCalls({
    unpaidLimit: { enter: async () => () => undefined },
    tally: {
      recordSent(call) {
        sent.push(call);
        return { ...call, hour: "" };
      },
      recordPaid: () => undefined,
      recordAbandoned: () => undefined,
    },
    metrics: {
      countUpstreamCost: (upstream, cost) => void sent.push([upstream, cost]),
      countUnpaidCall: () => undefined,
    },
  });
  const search = await startCalls({ walletId: "wallet", mode: "live" }, undefined);
  search.recordSent("brave", 5_001n);
  assert.deepEqual(sent, [{ walletId: "wallet", provider: "brave", cost: 5_001n }, ["brave", 5_001n]]);
});

test("a paid search pays for all of its calls, failed ones included", async () => {
  const records = await play([{ outcome: "status" }, { outcome: "ok" }], { isPaid: true });
  assert.deepEqual(records, ["limit 0 true", "paid p0", "paid p1"]);
});

test("an abandoned call counts against the caller if it was sent", async () => {
  assert.deepEqual(await play([{ outcome: "aborted" }]), ["limit 1 false", "unpaid p0 by caller", "abandoned p0"]);
  assert.deepEqual(await play([{ outcome: "aborted", isSent: false }]), ["limit 0 false"]);
});

test("a timeout counts against the caller only with a deadline of the caller's and a working upstream", async () => {
  const byCaller = ["limit 1 false", "unpaid p0 by caller", "abandoned p0"];
  const byUpstream = ["limit 0 false", "unpaid p0 by other"];
  assert.deepEqual(await play([{ outcome: "timeout" }], { wait: 1 }), byCaller);
  assert.deepEqual(await play([{ outcome: "timeout" }]), byUpstream);
  assert.deepEqual(await play([{ outcome: "timeout", isOpen: true }], { wait: 1 }), byUpstream);
  assert.deepEqual(await play([{ outcome: "timeout", isDeadline: false }], { wait: 1 }), byUpstream, "our own limit");
});

test("failures of the upstream never count", async () => {
  for (const outcome of ["status", "credential", "account_empty", "throttled", "unreachable"] as const)
    assert.deepEqual(await play([{ outcome }], { wait: 1 }), ["limit 0 false", "unpaid p0 by other"], outcome);
  // Such as a capture that failed.
  assert.deepEqual(await play([{ outcome: "ok" }], { wait: 1 }), ["limit 0 false", "unpaid p0 by other"]);
});

test("a 2xx that we reject counts, because the upstream charges for it, even while its circuit is open", async () => {
  const rejected = { outcome: "invalid_response", upstreamStatus: 200 } as const;
  assert.deepEqual(await play([rejected]), ["limit 1 false", "unpaid p0 by rejected"]);
  assert.deepEqual(await play([{ ...rejected, isOpen: true }]), ["limit 1 false", "unpaid p0 by rejected"]);
  assert.deepEqual(await play([rejected, { outcome: "ok" }], { isPaid: true }), ["limit 0 true", "paid p0", "paid p1"]);
  assert.deepEqual(await play([rejected, { outcome: "status" }, { outcome: "aborted" }]), [
    "limit 2 false",
    "unpaid p0 by rejected",
    "unpaid p1 by other",
    "unpaid p2 by caller",
    "abandoned p2",
  ]);
  for (const upstreamStatus of [301, 500, undefined])
    assert.deepEqual(await play([{ ...rejected, upstreamStatus }]), ["limit 0 false", "unpaid p0 by other"]);
});

test("all calls of an abandoned search count, except those that the upstream failed", async () => {
  const records = await play([{ outcome: "ok" }, { outcome: "status" }, { outcome: "aborted" }]);
  assert.deepEqual(records, [
    "limit 2 false",
    "unpaid p0 by caller",
    "abandoned p0",
    "unpaid p1 by other",
    "unpaid p2 by caller",
    "abandoned p2",
  ]);
});

test("searches with a test key cost nothing and are not limited", async () => {
  assert.deepEqual(await play([{ outcome: "aborted" }], { mode: "test" }), []);
});
