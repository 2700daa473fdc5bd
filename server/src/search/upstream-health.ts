import { formatUsd, type Micros, priceMicros } from "../lib/money.ts";
import type { FailureReason, UpstreamAnswer } from "../providers/provider.ts";

/** Availability, latency and margin of one upstream, for the operator. */
export interface UpstreamHealth {
  recordCall(answer: UpstreamAnswer, nowMs: number): void;
  /** The cost of a call, when it is sent. */
  recordCost(cost: Micros): void;
  recordCharge(charge: Micros): void;
  report(nowMs: number): HealthReport;
}

export interface HealthReport {
  /** Calls in the last 15 minutes, at most the latest 1,000. The rates are null without any. */
  recent: { calls: number; success_rate: number | null; p50_ms: number | null; p95_ms: number | null };
  /** Since this process started, in USD. Cost includes failed calls; revenue is charged to callers for its answers. */
  money: { searches: number; price: string; revenue: string; cost: string; margin: string };
  last_failure: { reason: FailureReason; upstream_status: number | null; at: string } | null;
}

const maxCalls = 1_000;
const recentMs = 900_000;

export function createUpstreamHealth(): UpstreamHealth {
  // Ring buffer.
  const calls: { atMs: number; ok: boolean; tookMs: number }[] = [];
  let next = 0;
  let searches = 0;
  let cost = 0n;
  let revenue = 0n;
  let lastFailure: HealthReport["last_failure"] = null;

  return {
    recordCall(answer, nowMs) {
      if (!answer.ok && answer.reason === "aborted") return;
      calls[next] = { atMs: nowMs, ok: answer.ok, tookMs: answer.tookMs };
      next = (next + 1) % maxCalls;
      if (answer.ok) {
        searches += 1;
      } else {
        const at = new Date(nowMs).toISOString();
        lastFailure = { reason: answer.reason, upstream_status: answer.upstreamStatus ?? null, at };
      }
    },
    recordCost(costMicros) {
      cost += costMicros;
    },
    recordCharge(charge) {
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

function quantile(sorted: number[], fraction: number): number | null {
  return sorted[Math.min(Math.floor(sorted.length * fraction), sorted.length - 1)] ?? null;
}
