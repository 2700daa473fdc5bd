import type { Queryable } from "../db/pool.ts";

/** What calls to one upstream came to in one hour. Callers who left in the middle are not counted. */
export interface UpstreamHour {
  start: string;
  calls: number;
  failures: number;
  /** 95 of 100 calls took at most so long, to the next class of durations. */
  p95_ms: number | null;
  /** Whether others were asked before it at some time. */
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

/** The hour that is under way and the 23 before it, oldest first, of every upstream that was asked in them. */
export async function readUpstreamHours(db: Queryable, now: Date): Promise<Map<string, UpstreamHour[]>> {
  const { rows } = await db.query<HourRow>(
    `select hour, provider, outcome, up_to_ms as "upToMs", calls::float8 as calls, was_open as "wasOpen"
     from pb.upstream_hours where hour >= $1`,
    [new Date(firstHour(now))],
  );
  const providers = new Set(rows.map(({ provider }) => provider));
  return new Map(
    [...providers].map((name) => [
      name,
      describeHours(
        rows.filter(({ provider }) => provider === name),
        now,
      ),
    ]),
  );
}

/** The rows of one upstream as 24 hours, those without a call too. */
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
  const wanted = sum(rows) * part;
  let soFar = 0;
  for (const { upToMs, calls } of rows.toSorted((a, b) => a.upToMs - b.upToMs)) {
    soFar += calls;
    if (soFar >= wanted) return upToMs;
  }
  return null;
}

function sum(rows: readonly HourRow[]): number {
  return rows.reduce((total, { calls }) => total + calls, 0);
}

function firstHour(now: Date): number {
  return Math.floor(now.getTime() / hourMs) * hourMs - 23 * hourMs;
}
