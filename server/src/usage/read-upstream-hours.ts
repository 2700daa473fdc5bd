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

interface HourRow {
  hour: Date;
  provider: string;
  outcome: string;
  upToMs: number;
  calls: number;
  wasOpen: boolean;
}

const hourMs = 3_600_000;

/** The current hour and the 23 before it, oldest first, for every upstream called in that time. */
export async function readUpstreamHours(db: Queryable, now: Date): Promise<Map<string, UpstreamHour[]>> {
  const { rows } = await db.query<HourRow>(
    `select hour, provider, outcome, up_to_ms as "upToMs", calls::float8 as calls, was_open as "wasOpen"
     from pb.upstream_hours where hour >= $1`,
    [new Date(firstHour(now))],
  );
  const byProvider = Map.groupBy(rows, ({ provider }) => provider);
  return new Map([...byProvider].map(([name, own]) => [name, describeHours(own, now)]));
}

/** Aggregates the rows of one upstream into 24 hours, including hours without calls. */
function describeHours(rows: readonly HourRow[], now: Date): UpstreamHour[] {
  return Array.from({ length: 24 }, (_, index) => {
    const startMs = firstHour(now) + index * hourMs;
    const own = rows.filter(({ hour, outcome }) => hour.getTime() === startMs && outcome !== "aborted");
    return {
      start: new Date(startMs).toISOString(),
      calls: sum(own),
      failures: sum(own.filter(({ outcome }) => outcome !== "ok")),
      p95_ms: quantile(own, 0.95),
      open: own.some(({ wasOpen }) => wasOpen),
    };
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
