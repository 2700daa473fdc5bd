import type { Redis } from "ioredis";
import { limitProblem } from "../problems/exceeded-limit.ts";
import type { Problem } from "../problems/problems.ts";

// Limits the upstream calls that a wallet causes and does not pay for. A paid search earns a credit for one unpaid call. A
// search takes a credit when it starts, and returns it unless its call stays unpaid. Without a credit it reserves a call.
//
//   level      unpaid calls without a credit; falls by 5 a minute, and by one for every paid search; no maximum
//   reserved   searches in flight that started without a credit
//
//   level = 0                a search without a credit starts
//   level + reserved < 20    starts
//   otherwise                starts if 12 seconds have passed since the last one that started, or if that one did not cause
//                            an unpaid call; rejected with 429 if not
//
// A wallet that never pays therefore causes 20 calls, or all that it has in flight at the same time, and 5 a minute after that. A
// wallet without unpaid calls may have any number of searches in flight. Redis counts for all servers. When it is unavailable, each
// server counts against its own share, from the last level that it has seen. Each server counts credits by itself.

export interface UnpaidLimit {
  /** Rejects with 429 if the wallet has no unpaid call left. */
  enter(walletId: string): Promise<(result: SearchResult) => void>;
}

export interface UnpaidLimitOptions {
  redis: Redis | undefined;
  servers: number;
  now?: () => number;
}

interface SearchResult {
  isPaid: boolean;
  unpaidCalls: number;
}

export const unpaidCalls = { burst: 20, perMinute: 5 };
const { burst, perMinute } = unpaidCalls;
const msPerCall = 60_000 / perMinute;
/** As many as a key may have in flight by default. */
const maxCredits = 1_000;
/** Longer than a search, whose reservation must not expire. */
const keepMs = 60_000;
const maxWallets = 50_000;

export function createUnpaidLimit({ redis, servers, now = () => Date.now() }: UnpaidLimitOptions): UnpaidLimit {
  const local = countLocally(servers, now);
  const shared = redis && countInRedis(redis, local.setLevel);
  const credits = countCredits(now);

  async function reserve(walletId: string): Promise<{ counter: Counter; reserved: Reserved }> {
    const reserved = await shared?.reserve(walletId).catch(() => undefined);
    return shared && reserved
      ? { counter: shared, reserved }
      : { counter: local, reserved: await local.reserve(walletId) };
  }

  /** Counts the result of a search without a credit. If Redis did not answer when it started, Redis still has to count it. */
  async function settle(counter: Counter, walletId: string, settled: Settled): Promise<void> {
    const withoutReservation = { ...settled, startedMs: undefined };
    let isDebtPaid = counter === local && (await local.settle(walletId, settled));
    if (shared) {
      isDebtPaid = await shared
        .settle(walletId, counter === local ? withoutReservation : settled)
        .catch(() => (counter === local ? isDebtPaid : local.settle(walletId, withoutReservation)));
    }
    if (settled.isPaid && !isDebtPaid) credits.add(walletId, 1);
  }

  function endWithCredit(walletId: string, { isPaid, unpaidCalls }: SearchResult): void {
    if (isPaid) return credits.add(walletId, 2);
    if (unpaidCalls === 0) return credits.add(walletId, 1);
    let owed = unpaidCalls - 1;
    while (owed > 0 && credits.take(walletId)) owed -= 1;
    if (owed === 0) return;
    settle(shared ?? local, walletId, { isPaid, unpaidCalls: owed, startedMs: undefined }).catch(() => undefined);
  }

  return {
    async enter(walletId) {
      if (credits.take(walletId)) return (result) => endWithCredit(walletId, result);
      const { counter, reserved } = await reserve(walletId);
      if (!reserved.isAccepted) throw limited(reserved.waitMs);
      const { startedMs } = reserved;
      return (result) => void settle(counter, walletId, { ...result, startedMs }).catch(() => undefined);
    },
  };
}

interface Counter {
  reserve(walletId: string): Promise<Reserved>;
  /** Returns whether a paid search lowered the level. */
  settle(walletId: string, settled: Settled): Promise<boolean>;
}

type Reserved = { isAccepted: true; startedMs: number } | { isAccepted: false; waitMs: number };

interface Settled extends SearchResult {
  /** When the search started, which identifies it. Undefined if it has no reservation. */
  startedMs: number | undefined;
}

/** Redis with our scripts as commands, which are sent by their hash instead of in full. */
type CountingRedis = Redis & {
  pbReserveUnpaid(name: string, ...settings: number[]): Promise<[number, string, string]>;
  pbSettleUnpaid(name: string, ...settings: number[]): Promise<[number, string]>;
};

function countInRedis(plain: Redis, onLevel: LocalCounter["setLevel"]): Counter {
  plain.defineCommand("pbReserveUnpaid", { numberOfKeys: 1, lua: reserveScript });
  plain.defineCommand("pbSettleUnpaid", { numberOfKeys: 1, lua: settleScript });
  const redis = plain as CountingRedis;
  const nameOf = (walletId: string): string => `pb:unpaid:${walletId}`;
  return {
    async reserve(walletId) {
      const [isAccepted, ms, level] = await redis.pbReserveUnpaid(nameOf(walletId), msPerCall, keepMs, burst);
      onLevel(walletId, Number(level));
      return isAccepted === 1 ? { isAccepted: true, startedMs: Number(ms) } : { isAccepted: false, waitMs: Number(ms) };
    },
    async settle(walletId, { isPaid, unpaidCalls, startedMs = 0 }) {
      const by = [unpaidCalls, isPaid ? 1 : 0, startedMs];
      const [isDebtPaid, level] = await redis.pbSettleUnpaid(nameOf(walletId), msPerCall, keepMs, ...by);
      onLevel(walletId, Number(level));
      return isDebtPaid === 1;
    },
  };
}

// The local functions as Redis scripts, with the clock of Redis.
const readScript = `
  local perCall, keep = tonumber(ARGV[1]), tonumber(ARGV[2])
  local now = redis.call('time')
  local ms = now[1] * 1000 + math.floor(now[2] / 1000)
  local saved = redis.call('hmget', KEYS[1], 'level', 'at', 'reserved', 'started')
  local level = math.max(0, (tonumber(saved[1]) or 0) - math.max(0, ms - (tonumber(saved[2]) or ms)) / perCall)
  local reserved, started = tonumber(saved[3]) or 0, tonumber(saved[4]) or 0`;

const saveScript = `
  redis.call('hset', KEYS[1], 'level', tostring(level), 'at', ms, 'reserved', reserved, 'started', started)
  redis.call('pexpire', KEYS[1], math.ceil(keep + level * perCall))`;

const reserveScript = `${readScript}
  local over = level + reserved + 1 - ARGV[3]
  local wait = math.min(over, 1 - (ms - started) / perCall) * perCall
  if level > 0 and wait > 0 then return { 0, tostring(wait), tostring(level) } end
  reserved, started = reserved + 1, ms ${saveScript}
  return { 1, tostring(ms), tostring(level) }`;

const settleScript = `${readScript}
  local unpaid, paid, startedAt = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
  local isDebtPaid = level > 0 and paid or 0
  level = math.max(0, level + unpaid - paid)
  if startedAt > 0 then reserved = math.max(0, reserved - 1) end
  if unpaid == 0 and startedAt == started then started = 0 end
  if level == 0 and reserved == 0 then redis.call('del', KEYS[1]) return { isDebtPaid, '0' } end ${saveScript}
  return { isDebtPaid, tostring(level) }`;

interface Count {
  level: number;
  atMs: number;
  reserved: number;
  startedMs: number;
}

interface LocalCounter extends Counter {
  setLevel: (walletId: string, level: number) => void;
}

/** This server's share of the limit. */
function countLocally(servers: number, now: () => number): LocalCounter {
  const counts = new Map<string, Count>();
  const share = Math.ceil(burst / servers);
  const perCall = msPerCall * servers;

  function read(walletId: string): Count {
    const { level, atMs, reserved, startedMs } = counts.get(walletId) ?? {
      level: 0,
      atMs: 0,
      reserved: 0,
      startedMs: 0,
    };
    return { level: Math.max(0, level - Math.max(0, now() - atMs) / perCall), atMs: now(), reserved, startedMs };
  }

  function save(walletId: string, count: Count): void {
    counts.delete(walletId);
    const oldest = counts.keys().next();
    if (counts.size >= maxWallets && !oldest.done) counts.delete(oldest.value);
    if (count.level > 0 || count.reserved > 0) counts.set(walletId, count);
  }

  return {
    setLevel: (walletId, level) => save(walletId, { ...read(walletId), level }),
    async reserve(walletId) {
      const count = read(walletId);
      const over = count.level + count.reserved + 1 - share;
      const waitMs = Math.min(over, 1 - (now() - count.startedMs) / perCall) * perCall;
      if (count.level > 0 && waitMs > 0) return { isAccepted: false, waitMs };
      save(walletId, { ...count, reserved: count.reserved + 1, startedMs: now() });
      return { isAccepted: true, startedMs: now() };
    },
    async settle(walletId, { isPaid, unpaidCalls, startedMs }) {
      const count = read(walletId);
      const isLast = unpaidCalls === 0 && startedMs === count.startedMs;
      save(walletId, {
        ...count,
        level: Math.max(0, count.level + unpaidCalls - (isPaid ? 1 : 0)),
        reserved: Math.max(0, count.reserved - (startedMs === undefined ? 0 : 1)),
        startedMs: isLast ? 0 : count.startedMs,
      });
      return isPaid && count.level > 0;
    },
  };
}

interface Credits {
  add(walletId: string, count: number): void;
  /** Takes one credit, and returns whether there was one. */
  take(walletId: string): boolean;
}

const creditMs = 1_800_000;

/** Credits expire after 30 to 60 minutes. */
function countCredits(now: () => number): Credits {
  let current = new Map<string, number>();
  let previous = new Map<string, number>();
  let rotatedAtMs = now();

  function rotate(): void {
    const ageMs = now() - rotatedAtMs;
    if (ageMs <= creditMs && current.size < maxWallets) return;
    previous = ageMs > 2 * creditMs ? new Map<string, number>() : current;
    current = new Map();
    rotatedAtMs = now();
  }

  return {
    add(walletId, count) {
      rotate();
      const max = maxCredits - (previous.get(walletId) ?? 0);
      current.set(walletId, Math.min((current.get(walletId) ?? 0) + count, max));
    },
    take(walletId) {
      rotate();
      const from = [previous, current].find((credits) => credits.has(walletId));
      const left = (from?.get(walletId) ?? 0) - 1;
      if (left > 0) from?.set(walletId, left);
      else from?.delete(walletId);
      return left >= 0;
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
