import { type CallerResult, measureCaller } from "../attack/abuse/paying-caller.ts";
import { until } from "../support/assertions/until.ts";
import type { TestDatabase } from "../support/services/database.ts";
import { createTestKey, createTestWallet } from "../support/services/server.ts";
import type { Size, Target } from "./fairness-fixture.ts";
import { startTraffic } from "./traffic.ts";

// A wallet with many keys, and many wallets with one, send as many searches as their rate limits allow. None has a balance, so
// all are refused. Each refusal is counted, and a limited number is stored: this measures how many, how large the table becomes,
// and their cost for another wallet.

export interface FloodResult {
  before: CallerResult;
  during: CallerResult;
  /** Responses to the flood by status. */
  statuses: Record<string, number>;
  stored: { rows: number; kilobytes: number };
  /** Maximum number of stored rows: see server/src/usage/README.md. */
  maxStored: number;
  counted: { requests: number; hourRows: number; dayRows: number };
}

/** Each key may send one search per second. */
const searchesPerSecond = 1;
const limits = { perKeyAndMinute: 20, perWalletAndMinute: 100 };

export async function measureRefusals(
  target: Target,
  { keys: keysOfOne, wallets, forMs }: Size["flood"],
): Promise<FloodResult> {
  const { db, url, port, victim, size } = target;
  const keys = [
    ...(await createKeys(db, keysOfOne)),
    ...(await Promise.all(Array.from({ length: wallets }, () => createKeys(db, 1)))).flat(),
  ];
  const measure = (): Promise<CallerResult> =>
    measureCaller(url, victim.live, { forMs, perSecond: size.victimPerSecond });
  await measureCaller(url, victim.live, { forMs: 500, perSecond: size.victimPerSecond });
  const before = await measure();
  const earlier = await readStored(db);
  const perSecond = keys.length * searchesPerSecond;
  const startedAt = Date.now();
  const traffic = await startTraffic({ kind: "searches", port, keys, query: "cats", perSecond, isDrained: true });
  const during = await measure();
  const statuses = await traffic.stop();
  const minutes = Math.floor(Date.now() / 60_000) - Math.floor(startedAt / 60_000) + 1;
  const { min } = countRefused(statuses);
  await until("all refusals are counted", async () => (await readCounted(db)).requests >= earlier.requests + min);
  const { requests, ...counted } = await readCounted(db);
  const stored = await readStored(db);
  return {
    before,
    during,
    statuses,
    stored: { rows: stored.rows - earlier.rows, kilobytes: stored.kilobytes },
    maxStored:
      minutes *
      (Math.min(limits.perWalletAndMinute, keysOfOne * limits.perKeyAndMinute) + wallets * limits.perKeyAndMinute),
    counted: { ...counted, requests: requests - earlier.requests },
  };
}

/** Keys of a new wallet without a balance. */
async function createKeys(db: TestDatabase, count: number): Promise<string[]> {
  const { walletId } = await createTestWallet(db, "0.00");
  const created: string[] = [];
  for (let index = 0; index < count; index += 1)
    created.push((await createTestKey(db, { walletId, name: `key ${index}`, searchesPerSecond })).key);
  return created;
}

async function readStored({ owner }: TestDatabase): Promise<{ rows: number; kilobytes: number; requests: number }> {
  const { rows } = await owner.query<{ rows: number; kilobytes: number }>(
    `select (select count(*)::integer from pb.unheld_requests) as rows, sum(pg_total_relation_size(relid))::float8 / 1024 as kilobytes
     from pg_partition_tree('pb.unheld_requests')`,
  );
  const { requests } = await readCounted({ owner });
  return { rows: rows[0]?.rows ?? 0, kilobytes: Math.round(rows[0]?.kilobytes ?? 0), requests };
}

async function readCounted({ owner }: Pick<TestDatabase, "owner">): Promise<FloodResult["counted"]> {
  const { rows } = await owner.query<FloodResult["counted"]>(
    `select coalesce(sum(searches), 0)::float8 as requests, count(*)::integer as "hourRows",
       (select count(*)::integer from pb.usage_days where not was_held) as "dayRows"
     from pb.usage_hours where not was_held`,
  );
  return rows[0] ?? { requests: 0, hourRows: 0, dayRows: 0 };
}

/**
 * A full server refuses requests with 503, or closes their connection, before or after it knows their key. It counts those of a
 * known one.
 */
function countRefused(statuses: Record<string, number>): { min: number; max: number } {
  const min = (statuses[402] ?? 0) + (statuses[429] ?? 0);
  return { min, max: min + (statuses[503] ?? 0) + (statuses["closed"] ?? 0) };
}

/** Wrong counts and rows. How many searches of the other wallet succeed depends on the machine. */
export function faultsOf({ statuses, stored, maxStored, counted }: FloodResult): string[] {
  const { min, max } = countRefused(statuses);
  const isRefused = (status: string): boolean => ["402", "429", "503", "closed"].includes(status);
  return [
    ...(Object.keys(statuses).every(isRefused) ? [] : ["some were not refused"]),
    ...(stored.rows > maxStored ? [`${stored.rows} rows were stored, more than ${maxStored}`] : []),
    ...(counted.requests >= min && counted.requests <= max ? [] : [`${counted.requests} of ${max} were counted`]),
  ];
}

export function formatFlood({ before, during, statuses, stored, maxStored, counted }: FloodResult): string {
  const total = Object.values(statuses).reduce((sum, count) => sum + count, 0);
  return [
    `  refused        ${total} requests: ${JSON.stringify(statuses)}`,
    `  stored         ${stored.rows} rows, at most ${maxStored}; the table has ${stored.kilobytes} KiB with its indexes`,
    `  counted        ${counted.requests} requests in ${counted.hourRows} rows by hour and ${counted.dayRows} by day`,
    `  other wallet   p50 ${before.p50Ms} ms before, ${during.p50Ms} ms during; p99 ${before.p99Ms} ms before, ${during.p99Ms} ms during; ${during.searches - during.failures.length} of ${during.searches} searches succeeded`,
  ].join("\n");
}
