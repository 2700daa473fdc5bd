import type { Pool } from "../db/pool.ts";
import type { OperatorRoute } from "../http/ops-server.ts";
import { formatUsd, type Micros } from "../lib/money.ts";
import type { Margin, UpstreamHour } from "../usage/usage.ts";
import { type DatabaseKnown, findAttention, type UpstreamState } from "./attention.ts";
import { readHealth } from "./read-health.ts";

export interface WatchParts {
  /** What this server knows of each upstream. */
  reportUpstreams: () => UpstreamState[];
  /** How this process does. */
  readProcess: () => Record<string, unknown>;
  waiting: () => { holds: number; settlements: number };
  /** Undefined where no operator's database is configured: then only what this server knows is told. */
  db: WatchedDatabase | undefined;
}

export interface WatchedDatabase {
  pool: Pool;
  readUpstreamHours: (now: Date) => Promise<Map<string, UpstreamHour[]>>;
  readMargin: (days: { from: string; to: string }) => Promise<Margin>;
  readReconciliation: () => Promise<{ last: { at: string; differences: number } | null }>;
}

/** What an operator sees of a service that runs: quiet when all is well. */
export function watchRoutes(parts: WatchParts): OperatorRoute[] {
  return [
    { method: "GET", path: "upstreams", handle: () => showUpstreams(parts) },
    { method: "GET", path: "system", handle: () => showSystem(parts) },
    { method: "GET", path: "attention", handle: () => showAttention(parts) },
  ];
}

async function showUpstreams({ reportUpstreams, db }: WatchParts) {
  const upstreams = reportUpstreams();
  if (!db) return { upstreams };
  const now = new Date();
  const day = now.toISOString().slice(0, 10);
  const [hours, { rows }] = await Promise.all([db.readUpstreamHours(now), db.readMargin({ from: day, to: day })]);
  return {
    upstreams: upstreams.map((upstream) => {
      const today = rows.find(({ provider }) => provider === upstream.name);
      return { ...upstream, hours: hours.get(upstream.name) ?? [], today: showDay(day, today) };
    }),
  };
}

function showDay(day: string, row: { calls: number; cost: Micros; revenue: Micros } | undefined) {
  const { calls, cost, revenue } = row ?? { calls: 0, cost: 0n, revenue: 0n };
  const money = { cost: formatUsd(cost), revenue: formatUsd(revenue), margin: formatUsd(revenue - cost) };
  return { day, calls, ...money };
}

/** Of this server, and of the database that all share. */
async function showSystem({ readProcess, waiting, db }: WatchParts) {
  const { holds, settlements } = waiting();
  const here = { ...readProcess(), ledger_waiting: holds + settlements };
  if (!db) return here;
  const health = await readHealth(db.pool);
  return {
    ...here,
    db: {
      connections: health.connections,
      max: health.mostConnections,
      size_mb: Math.round(Number(health.bytes) / 1_048_576),
    },
    oldest_pending_s: health.oldestPendingSeconds ?? null,
    partitions_ahead: health.partitionDays,
    worker_last_seen: health.sweptAt?.toISOString() ?? null,
  };
}

async function showAttention({ reportUpstreams, db }: WatchParts) {
  // A database that does not answer is itself what needs attention: it must not take the rest of the list along.
  const database = db && (await readDatabase(db).catch(() => "silent" as const));
  return { items: findAttention({ now: new Date(), upstreams: reportUpstreams(), database }) };
}

async function readDatabase(db: WatchedDatabase): Promise<DatabaseKnown> {
  const [health, { last }] = await Promise.all([readHealth(db.pool), db.readReconciliation()]);
  return { ...health, lastReconciliation: last ? { at: new Date(last.at), differences: last.differences } : undefined };
}
