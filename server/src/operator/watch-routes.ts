import type { Archiver } from "../db/archiver.ts";
import type { Pool } from "../db/pool.ts";
import type { LastBackup } from "../db/read-backup.ts";
import type { OperatorRoute } from "../http/ops-server.ts";
import { formatUsd, type Micros } from "../lib/money.ts";
import type { LiveServers } from "../telemetry/heartbeats.ts";
import type { AbandonedCalls, Margin, UpstreamDay } from "../usage/usage.ts";
import { type DatabaseState, findAttention, type UpstreamState } from "./attention.ts";
import { readHealth } from "./read-health.ts";

export interface WatchDependencies {
  /** Upstream state as seen by this server. */
  reportUpstreams: () => UpstreamState[];
  /** Proxies missing from PENNYBLACK_TRUSTED_PROXIES, as seen by this server. */
  listUnlistedProxies: () => string[];
  readServers: () => Promise<LiveServers>;
  /** PENNYBLACK_SERVERS. */
  expectedServers: number;
  /** False in development. */
  expectsArchive: boolean;
  /** Whether the OpenID Connect provider did not respond to this server. */
  isSignInUnavailable: () => boolean;
  /** Undefined if no operator database is configured: then only the state of the servers is returned. */
  db: WatchedDatabase | undefined;
}

export interface WatchedDatabase {
  pool: Pool;
  readUpstreamHours: (now: Date) => Promise<Map<string, UpstreamDay>>;
  readMargin: (days: { from: string; to: string }) => Promise<Margin>;
  readAbandonedCalls: () => Promise<AbandonedCalls[]>;
  readReconciliation: () => Promise<{ last: { at: string; differences: number } | null }>;
  readUsageLag: () => Promise<number>;
  readWebhookLag: () => Promise<number>;
  readArchiver: () => Promise<Archiver | undefined>;
  readLastBackup: () => Promise<LastBackup | undefined>;
}

export function watchRoutes(dependencies: WatchDependencies): OperatorRoute[] {
  return [
    { method: "GET", path: "upstreams", handle: () => getUpstreams(dependencies) },
    { method: "GET", path: "servers", handle: () => getServers(dependencies) },
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
      const last = hours.get(upstream.name) ?? { hours: [], calls: 0, failures: 0, p95_ms: null };
      const { hours: own, ...last24Hours } = last;
      return { ...upstream, hours: own, last_24_hours: last24Hours, today: serializeDay(day, today) };
    }),
  };
}

function serializeDay(day: string, row: { calls: number; cost: Micros; revenue: Micros } | undefined) {
  const { calls, cost, revenue } = row ?? { calls: 0, cost: 0n, revenue: 0n };
  const money = { cost: formatUsd(cost), revenue: formatUsd(revenue), margin: formatUsd(revenue - cost) };
  return { day, calls, ...money };
}

/** Every server process with its current load. The first is the one that answers. */
async function getServers({ readServers }: WatchDependencies) {
  const { servers, isComplete } = await readServers();
  return { servers, is_complete: isComplete };
}

/** The database and the worker. Empty if no operator database is configured. */
async function getSystem({ db }: WatchDependencies) {
  if (!db) return {};
  const state = await readDatabase(db);
  const { archiver, lastBackup, lastReconciliation: last } = state;
  return {
    db: {
      connections: state.connections,
      max: state.maxConnections,
      size_mb: Math.round(Number(state.bytes) / 1_048_576),
    },
    oldest_pending_s: state.oldestPendingSeconds ?? null,
    partitions_ahead: state.partitionDays,
    worker_last_seen: state.worker.seenAt?.toISOString() ?? null,
    reconciliation: last ? { at: last.at.toISOString(), differences: last.differences } : null,
    usage_lag_s: Math.round(state.usageLagSeconds),
    webhook_lag_s: Math.round(state.webhookLagSeconds),
    wal_archived_at: archiver?.archivedAt.toISOString() ?? null,
    backup: lastBackup ? { completed_at: lastBackup.at?.toISOString() ?? null } : null,
  };
}

async function getAttention(dependencies: WatchDependencies) {
  const { reportUpstreams, listUnlistedProxies, readServers, expectedServers, expectsArchive, db } = dependencies;
  // An unavailable database is reported as an item; the rest of the list must still be returned.
  const [database, { servers, isComplete }] = await Promise.all([
    db && readDatabase(db).catch(() => "unavailable" as const),
    readServers(),
  ]);
  return {
    items: findAttention({
      now: new Date(),
      upstreams: reportUpstreams(),
      unlistedProxies: listUnlistedProxies(),
      servers: { reporting: servers, expected: isComplete ? expectedServers : 0 },
      expectsArchive,
      isSignInUnavailable: dependencies.isSignInUnavailable(),
      database,
    }),
  };
}

async function readDatabase(db: WatchedDatabase): Promise<DatabaseState & { bytes: bigint }> {
  const [health, { last }, abandonedCalls, usageLagSeconds, webhookLagSeconds, archiver, lastBackup] =
    await Promise.all([
      readHealth(db.pool),
      db.readReconciliation(),
      db.readAbandonedCalls(),
      db.readUsageLag(),
      db.readWebhookLag(),
      db.readArchiver(),
      db.readLastBackup(),
    ]);
  return {
    ...health,
    lastReconciliation: last ? { at: new Date(last.at), differences: last.differences } : undefined,
    abandonedCalls,
    usageLagSeconds,
    webhookLagSeconds,
    archiver: archiver && {
      archivedAt: new Date(archiver.archivedAtSeconds * 1_000),
      failedAt: archiver.failedAtSeconds === undefined ? undefined : new Date(archiver.failedAtSeconds * 1_000),
    },
    lastBackup,
  };
}
