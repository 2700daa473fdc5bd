import { formatUsd, type Micros, priceMicros } from "../lib/money.ts";
import type { FailureReason, UpstreamAnswer } from "../providers/provider.ts";

/** What an operator wants to know of an upstream: does it answer, how fast, and does it pay. */
export interface UpstreamHealth {
  noteCall(answer: UpstreamAnswer, costMicros: Micros, nowMs: number): void;
  noteCharge(charge: Micros): void;
  report(nowMs: number): HealthReport;
}

export interface HealthReport {
  /** Calls of the last quarter of an hour, the latest thousand at most. Without any, the rates are null. */
  recent: { calls: number; success_rate: number | null; p50_ms: number | null; p95_ms: number | null };
  /** Since this process started, in USD. Revenue is what callers were charged for its answers. */
  money: { searches: number; price: string; revenue: string; cost: string; margin: string };
  last_failure: { reason: FailureReason; upstream_status: number | null; at: string } | null;
}

const mostCalls = 1_000;
const recentMs = 900_000;

export function createUpstreamHealth(): UpstreamHealth {
  // A ring: the oldest of the latest thousand calls makes room for the next.
  const calls: { atMs: number; ok: boolean; tookMs: number }[] = [];
  let next = 0;
  let searches = 0;
  let cost = 0n;
  let revenue = 0n;
  let lastFailure: HealthReport["last_failure"] = null;

  return {
    noteCall(answer, costMicros, nowMs) {
      if (!answer.ok && answer.reason === "aborted") return;
      calls[next] = { atMs: nowMs, ok: answer.ok, tookMs: answer.tookMs };
      next = (next + 1) % mostCalls;
      if (answer.ok) {
        searches += 1;
        // Providers charge for answers, not for their own failures.
        cost += costMicros;
      } else {
        const at = new Date(nowMs).toISOString();
        lastFailure = { reason: answer.reason, upstream_status: answer.upstreamStatus ?? null, at };
      }
    },
    noteCharge(charge) {
      revenue += charge;
    },
    report(nowMs) {
      const recent = calls.filter(({ atMs }) => atMs > nowMs - recentMs);
      const times = recent.map(({ tookMs }) => tookMs).toSorted((a, b) => a - b);
      const answered = recent.filter(({ ok }) => ok).length;
      return {
        recent: {
          calls: recent.length,
          success_rate: recent.length === 0 ? null : Number((answered / recent.length).toFixed(4)),
          p50_ms: quantile(times, 0.5),
          p95_ms: quantile(times, 0.95),
        },
        money: {
          searches,
          price: formatUsd(priceMicros),
          revenue: formatUsd(revenue),
          cost: formatUsd(cost),
          margin: formatUsd(revenue - cost),
        },
        last_failure: lastFailure,
      };
    },
  };
}

function quantile(sorted: number[], part: number): number | null {
  return sorted[Math.min(Math.floor(sorted.length * part), sorted.length - 1)] ?? null;
}
