import { loadavg } from "node:os";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { RequestKind } from "./metric-table.ts";

/** The current load of this process, for the operator's console. The metrics have its history. */
export interface ProcessFigures {
  /** Calls `work` and counts it as a search in flight until it ends. */
  duringSearch: <Result>(work: () => Promise<Result>) => Promise<Result>;
  /** Counts a request that has ended. `fault` is undefined for test keys and errors of the caller. */
  recordRequest: (request: { kind: RequestKind; ms: number; fault: Fault | undefined }) => void;
  read: () => ProcessReport;
  close: () => void;
}

export interface ProcessReport {
  in_flight: number;
  /** Of the last 10 seconds. */
  searches_per_second: number;
  /** Of the last minute. */
  recent: {
    searches: number;
    replays: number;
    refusals: number;
    /** Live requests without errors of the caller: those that the errors are a part of. */
    attempts: number;
    own_errors: number;
    upstream_errors: number;
    /** Of the attempts. At most 15 % too high. */
    p95_ms: number | null;
  };
  load: number[];
  memory_mb: number;
  event_loop_ms_p99: number;
}

const rateSeconds = 10;
const recentSeconds = 60;

type Fault = "none" | "ours" | "upstream";

/** The requests that ended in one second. */
interface Second extends Record<RequestKind | Fault, number> {
  /** By latency bucket. */
  buckets: Map<number, number>;
}

export function createProcessFigures(now: () => number = Date.now): ProcessFigures {
  // Covers this minute and the one before, so that an old pause is not reported.
  const delays = monitorEventLoopDelay({ resolution: 10 });
  delays.enable();
  let lastMinute = 0;
  const timer = setInterval(() => {
    lastMinute = delays.percentile(99);
    delays.reset();
  }, 60_000).unref();

  let inFlight = 0;
  const seconds = new Map<number, Second>();
  const second = (): number => Math.floor(now() / 1_000);

  function currentSecond(): Second {
    const current = second();
    const known = seconds.get(current);
    if (known) return known;
    for (const each of seconds.keys()) if (each < current - recentSeconds) seconds.delete(each);
    const kinds = { search: 0, replay: 0, refusal: 0, unauthenticated: 0, unknown: 0 };
    const created = { ...kinds, none: 0, ours: 0, upstream: 0, buckets: new Map<number, number>() };
    seconds.set(current, created);
    return created;
  }

  /** Excludes the current second, which is incomplete. */
  const lastSeconds = (count: number): Second[] =>
    [...seconds].filter(([each]) => each >= second() - count && each < second()).map(([, found]) => found);

  return {
    async duringSearch(work) {
      inFlight += 1;
      try {
        return await work();
      } finally {
        inFlight -= 1;
      }
    },
    recordRequest({ kind, ms, fault }) {
      const current = currentSecond();
      current[kind] += 1;
      if (fault === undefined) return;
      current[fault] += 1;
      const bucket = bucketOf(ms);
      current.buckets.set(bucket, (current.buckets.get(bucket) ?? 0) + 1);
    },
    read: () => ({
      in_flight: inFlight,
      searches_per_second: sum(lastSeconds(rateSeconds), "search") / rateSeconds,
      recent: summarize(lastSeconds(recentSeconds)),
      load: loadavg().map((load) => Number(load.toFixed(2))),
      memory_mb: Math.round(process.memoryUsage.rss() / 1_048_576),
      event_loop_ms_p99: Number((Math.max(lastMinute, delays.percentile(99)) / 1_000_000).toFixed(1)),
    }),
    close() {
      clearInterval(timer);
      delays.disable();
    },
  };
}

/** Each bucket is 15 % wider than the one before. */
const bucketFactor = 1.15;

function bucketOf(ms: number): number {
  return Math.ceil(Math.log(Math.max(ms, 1)) / Math.log(bucketFactor));
}

function summarize(seconds: readonly Second[]): ProcessReport["recent"] {
  const [ownErrors, upstreamErrors] = [sum(seconds, "ours"), sum(seconds, "upstream")];
  const attempts = sum(seconds, "none") + ownErrors + upstreamErrors;
  const counts = new Map<number, number>();
  for (const { buckets } of seconds) {
    for (const [bucket, count] of buckets) counts.set(bucket, (counts.get(bucket) ?? 0) + count);
  }
  let soFar = 0;
  const [p95] =
    [...counts]
      .toSorted(([a], [b]) => a - b)
      .find(([, count]) => {
        soFar += count;
        return soFar >= attempts * 0.95;
      }) ?? [];
  const p95Ms = p95 === undefined ? null : Math.round(bucketFactor ** p95);
  return {
    searches: sum(seconds, "search"),
    replays: sum(seconds, "replay"),
    refusals: sum(seconds, "refusal"),
    attempts,
    own_errors: ownErrors,
    upstream_errors: upstreamErrors,
    p95_ms: p95Ms,
  };
}

function sum(seconds: readonly Second[], name: RequestKind | Fault): number {
  return seconds.reduce((total, each) => total + each[name], 0);
}
