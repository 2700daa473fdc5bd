import type { Queryable } from "../db/pool.ts";

/** Calls to one upstream in one hour. Calls aborted by the caller are not counted. */
export interface UpstreamHour {
  start: string;
  calls: number;
  failures: number;
  /** 95th percentile, rounded up to the latency bucket. */
  p95_ms: number | null;
  /** Whether its circuit was open at some time in the hour. */
  open: boolean;
}

export interface UpstreamDay {
  /** The current hour and the 23 before it, oldest first. */
  hours: UpstreamHour[];
  calls: number;
  failures: number;
  p95_ms: number | null;
}

interface HourRow {
  hour: Date;
  provider: string;
  outcome: string;
  upToMs: number;
  calls: number;
  wasOpen: boolean;
}

const hourMs = 3_600_000;

/** The last 24 hours of every upstream that was called in that time. */
export async function readUpstreamHours(db: Queryable, now: Date): Promise<Map<string, UpstreamDay>> {
  const { rows } = await db.query<HourRow>(
    `select hour, provider, outcome, up_to_ms as "upToMs", calls::float8 as calls, was_open as "wasOpen"
     from pb.upstream_hours where hour >= $1`,
    [new Date(firstHour(now))],
  );
  const counted = rows.filter(({ outcome }) => outcome !== "aborted");
  const byProvider = Map.groupBy(counted, ({ provider }) => provider);
  return new Map([...byProvider].map(([name, own]) => [name, { hours: describeHours(own, now), ...describe(own) }]));
}

function describe(rows: readonly HourRow[]): Pick<UpstreamHour, "calls" | "failures" | "p95_ms"> {
  const failures = sum(rows.filter(({ outcome }) => outcome !== "ok"));
  return { calls: sum(rows), failures, p95_ms: quantile(rows, 0.95) };
}

/** Aggregates the rows of one upstream into 24 hours, including hours without calls. */
function describeHours(rows: readonly HourRow[], now: Date): UpstreamHour[] {
  return Array.from({ length: 24 }, (_, index) => {
    const startMs = firstHour(now) + index * hourMs;
    const own = rows.filter(({ hour }) => hour.getTime() === startMs);
    const start = new Date(startMs).toISOString();
    return { start, ...describe(own), open: own.some(({ wasOpen }) => wasOpen) };
  });
}

function quantile(rows: readonly HourRow[], part: number): number | null {
  const target = sum(rows) * part;
  let soFar = 0;
  for (const { upToMs, calls } of rows.toSorted((a, b) => a.upToMs - b.upToMs)) {
    soFar += calls;
    if (soFar >= target) return upToMs;
  }
  return null;
}

function sum(rows: readonly HourRow[]): number {
  return rows.reduce((total, { calls }) => total + calls, 0);
}

function firstHour(now: Date): number {
  return Math.floor(now.getTime() / hourMs) * hourMs - 23 * hourMs;
}
