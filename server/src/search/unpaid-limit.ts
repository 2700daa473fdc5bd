import type { Redis } from "ioredis";
import { limitProblem } from "../problems/exceeded-limit.ts";
import type { Problem } from "../problems/problems.ts";

// Limits upstream calls that a wallet causes and does not pay for, because its searches are abandoned or time out by their
// own deadline. A token bucket per wallet: `level` is the number of unpaid calls minus the paid searches since.
//
//   level <= 0   as many paid searches as unpaid calls: no limit, and no request to Redis
//   0 to 20      each search reserves its calls before it starts: one, or two with fusion, and returns those that it paid
//                for or that the upstream failed
//   20           rejected with 429; the level falls by 5 a minute
//
// A paid search lowers the level by one. Searches that were in flight when the level rose above 0 have no reservation; if
// they are abandoned, they count in full, and the level can exceed 20. Redis counts for all servers. When it is
// unavailable, each server counts against its own share.

export interface UnpaidLimit {
  /** Rejects with 429 if the wallet has no unpaid call left. */
  enter(walletId: string): Promise<(result: { isPaid: boolean; unpaidCalls: number }) => void>;
}

export interface UnpaidLimitOptions {
  redis: Redis | undefined;
  servers: number;
  /** The upstream calls that a search can make at once. */
  callsAtOnce?: number;
  now?: () => number;
}

const perMinute = 5;
const burst = 20;
const msPerCall = 60_000 / perMinute;
/** Paid searches earn at most this many unpaid calls: as many as a key may have in flight by default. */
const maxEarned = 1_000;
/** At most an hour without searches, however many were abandoned at once. */
const maxLevel = burst + 60 * perMinute;
/** Longer than `maxLevel` takes to fall to zero. Earned calls are kept as long. */
const keepMs = 3_900_000;
const maxWallets = 50_000;
/** More than any level plus the calls of one search. */
const unlimited = 1_000_000;

export function createUnpaidLimit({
  redis: plainRedis,
  servers,
  callsAtOnce = 1,
  now = Date.now,
}: UnpaidLimitOptions): UnpaidLimit {
  plainRedis?.defineCommand("pbUnpaid", { numberOfKeys: 1, lua: changeScript });
  const redis = plainRedis as CountingRedis | undefined;
  const local = createLocalLevels(servers, now);
  const earned = countEarned(now);

  /** Returns undefined if Redis is unavailable. */
  async function changeInRedis(walletId: string, by: number, max: number): Promise<Change | undefined> {
    const name = `pb:unpaid:${walletId}`;
    const found = await redis?.pbUnpaid(name, by, max, msPerCall, -maxEarned, maxLevel, keepMs).catch(() => undefined);
    if (!found) return undefined;
    local.set(walletId, Number(found[1]));
    return { isAccepted: found[0] === 1, level: Number(found[1]) };
  }

  /** Returns the time until the calls are available, or undefined if they were reserved. */
  async function reserve(walletId: string): Promise<number | undefined> {
    const shared = await changeInRedis(walletId, callsAtOnce, burst);
    if (shared) return shared.isAccepted ? undefined : (shared.level + callsAtOnce - burst) * msPerCall;
    const share = Math.max(callsAtOnce, Math.ceil(burst / servers));
    const { isAccepted, level } = local.change(walletId, callsAtOnce, share);
    return isAccepted ? undefined : (level + callsAtOnce - share) * msPerCall * servers;
  }

  function report(walletId: string, by: number): void {
    // Before Redis answers, so that the wallet's next search already reserves a call.
    local.change(walletId, by, unlimited);
    changeInRedis(walletId, by, unlimited).catch(() => undefined);
  }

  return {
    async enter(walletId) {
      const isReserved = local.level(walletId) > 0;
      const waitMs = isReserved ? await reserve(walletId) : undefined;
      if (waitMs !== undefined) throw limited(waitMs);
      return function endSearch({ isPaid, unpaidCalls }) {
        const by = unpaidCalls - (isReserved ? callsAtOnce : 0) - (isPaid ? 1 : 0);
        if (isPaid && local.level(walletId) <= 0) earned.add(walletId);
        else if (by !== 0) report(walletId, by - earned.take(walletId));
      };
    },
  };
}

interface Change {
  isAccepted: boolean;
  level: number;
}

/** Redis with our script as a command, which is sent by its hash instead of in full. */
type CountingRedis = Redis & {
  pbUnpaid(name: string, by: number, max: number, ...settings: number[]): Promise<[number, string]>;
};

// The same as `change` of the local levels, with the clock of Redis.
const changeScript = `
  local now = redis.call('time')
  local ms = now[1] * 1000 + math.floor(now[2] / 1000)
  local saved = redis.call('hmget', KEYS[1], 'level', 'at')
  local level = tonumber(saved[1]) or 0
  if level > 0 then level = math.max(0, level - math.max(0, ms - saved[2]) / ARGV[3]) end
  local next = level + ARGV[1]
  if next > tonumber(ARGV[2]) then return { 0, tostring(level) } end
  level = math.min(math.max(next, tonumber(ARGV[4])), tonumber(ARGV[5]))
  redis.call('hset', KEYS[1], 'level', tostring(level), 'at', ms)
  redis.call('pexpire', KEYS[1], ARGV[6])
  return { 1, tostring(level) }`;

interface LocalLevels {
  level(walletId: string): number;
  set(walletId: string, level: number): void;
  /** Adds to the level, unless it would rise above `max`. */
  change(walletId: string, by: number, max: number): Change;
}

/** The last known level of each wallet, which falls at this server's share of the rate. */
function createLocalLevels(servers: number, now: () => number): LocalLevels {
  const levels = new Map<string, { level: number; atMs: number }>();

  function level(walletId: string): number {
    const known = levels.get(walletId);
    if (!known || now() - known.atMs > keepMs * servers) return 0;
    return known.level > 0 ? Math.max(0, known.level - (now() - known.atMs) / (msPerCall * servers)) : known.level;
  }

  function set(walletId: string, next: number): void {
    levels.delete(walletId);
    const oldest = levels.keys().next();
    if (levels.size >= maxWallets && !oldest.done) levels.delete(oldest.value);
    if (next !== 0) levels.set(walletId, { level: next, atMs: now() });
  }

  return {
    level,
    set,
    change(walletId, by, max) {
      const current = level(walletId);
      if (current + by > max) return { isAccepted: false, level: current };
      const next = Math.min(Math.max(current + by, -maxEarned), maxLevel);
      set(walletId, next);
      return { isAccepted: true, level: next };
    },
  };
}

interface Earned {
  add(walletId: string): void;
  /** Returns the number of paid searches since the last call, and resets it. */
  take(walletId: string): number;
}

/** Counts paid searches without Redis until an unpaid call is reported. A count is forgotten after 30 to 60 minutes. */
function countEarned(now: () => number): Earned {
  let current = new Map<string, number>();
  let previous = new Map<string, number>();
  let rotatedAtMs = now();

  return {
    add(walletId) {
      if (now() - rotatedAtMs > 1_800_000 || current.size >= maxWallets) {
        previous = current;
        current = new Map();
        rotatedAtMs = now();
      }
      current.set(walletId, (current.get(walletId) ?? 0) + 1);
    },
    take(walletId) {
      const count = (current.get(walletId) ?? 0) + (previous.get(walletId) ?? 0);
      current.delete(walletId);
      previous.delete(walletId);
      return Math.min(count, maxEarned);
    },
  };
}

function limited(waitMs: number): Problem {
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
  const exceeded = { limit: "wallet_unpaid_calls" as const, max: perMinute, windowSeconds: 60 };
  const headers = {
    "ratelimit-policy": `"unpaid";q=${perMinute};w=60`,
    ratelimit: `"unpaid";r=0;t=${seconds}`,
  };
  return limitProblem("unpaid_calls_limited", { ...exceeded, retryAfterSeconds: seconds }, { headers });
}
