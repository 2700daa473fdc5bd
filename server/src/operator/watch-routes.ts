import type { Pool } from "../db/pool.ts";
import type { OperatorRoute } from "../http/ops-server.ts";
import { formatUsd, type Micros } from "../lib/money.ts";
import type { AbandonedCalls, Margin, UpstreamHour } from "../usage/usage.ts";
import { type DatabaseState, findAttention, type UpstreamState } from "./attention.ts";
import { readHealth } from "./read-health.ts";

export interface WatchDependencies {
  /** Upstream state as seen by this server. */
  reportUpstreams: () => UpstreamState[];
  /** Proxies missing from PENNYBLACK_TRUSTED_PROXIES, as seen by this server. */
  listUnlistedProxies: () => string[];
  /** Statistics of this process. */
  readProcess: () => Record<string, unknown>;
  waiting: () => { holds: number; settlements: number };
  /** Undefined if no operator database is configured: then only the state of this server is returned. */
  db: WatchedDatabase | undefined;
}

export interface WatchedDatabase {
  pool: Pool;
  readUpstreamHours: (now: Date) => Promise<Map<string, UpstreamHour[]>>;
  readMargin: (days: { from: string; to: string }) => Promise<Margin>;
  readAbandonedCalls: () => Promise<AbandonedCalls[]>;
  readReconciliation: () => Promise<{ last: { at: string; differences: number } | null }>;
}

export function watchRoutes(dependencies: WatchDependencies): OperatorRoute[] {
  return [
    { method: "GET", path: "upstreams", handle: () => getUpstreams(dependencies) },
    { method: "GET", path: "system", handle: () => getSystem(dependencies) },
    { method: "GET", path: "attention", handle: () => getAttention(dependencies) },
  ];
}

async function getUpstreams({ reportUpstreams, db }: WatchDependencies) {
  const upstreams = reportUpstreams();
  if (!db) return { upstreams };
  const now = new Date();
  const day = now.toISOString().slice(0, 10);
  const [hours, { rows }] = await Promise.all([db.readUpstreamHours(now), db.readMargin({ from: day, to: day })]);
  return {
    upstreams: upstreams.map((upstream) => {
      const today = rows.find(({ provider }) => provider === upstream.name);
      return { ...upstream, hours: hours.get(upstream.name) ?? [], today: serializeDay(day, today) };
    }),
  };
}

function serializeDay(day: string, row: { calls: number; cost: Micros; revenue: Micros } | undefined) {
  const { calls, cost, revenue } = row ?? { calls: 0, cost: 0n, revenue: 0n };
  const money = { cost: formatUsd(cost), revenue: formatUsd(revenue), margin: formatUsd(revenue - cost) };
  return { day, calls, ...money };
}

/** Statistics of this server and of the shared database. */
async function getSystem({ readProcess, waiting, db }: WatchDependencies) {
  const { holds, settlements } = waiting();
  const ownStatistics = { ...readProcess(), ledger_waiting: holds + settlements };
  if (!db) return ownStatistics;
  const health = await readHealth(db.pool);
  return {
    ...ownStatistics,
    db: {
      connections: health.connections,
      max: health.maxConnections,
      size_mb: Math.round(Number(health.bytes) / 1_048_576),
    },
    oldest_pending_s: health.oldestPendingSeconds ?? null,
    partitions_ahead: health.partitionDays,
    worker_last_seen: health.sweptAt?.toISOString() ?? null,
  };
}

async function getAttention({ reportUpstreams, listUnlistedProxies, db }: WatchDependencies) {
  // An unavailable database is reported as an item; the rest of the list must still be returned.
  const database = db && (await readDatabase(db).catch(() => "unavailable" as const));
  const unlistedProxies = listUnlistedProxies();
  return { items: findAttention({ now: new Date(), upstreams: reportUpstreams(), unlistedProxies, database }) };
}

async function readDatabase(db: WatchedDatabase): Promise<DatabaseState> {
  const [health, { last }, abandonedCalls] = await Promise.all([
    readHealth(db.pool),
    db.readReconciliation(),
    db.readAbandonedCalls(),
  ]);
  const lastReconciliation = last ? { at: new Date(last.at), differences: last.differences } : undefined;
  return { ...health, lastReconciliation, abandonedCalls };
}
