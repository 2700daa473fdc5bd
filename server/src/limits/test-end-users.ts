import type { Redis } from "ioredis";
import { hmacOf, type Secrets } from "../lib/secrets.ts";
import { limitProblem } from "../problems/exceeded-limit.ts";

// Usage by end user has a row for each end user and day, and test searches are free. So the test keys of a wallet can name a
// limited number of end users per day (UTC). Redis has a set of them for all servers, with the ids under an HMAC. When it is
// unavailable, each server has its own.

/** Rejects with 429 if the end user is new and the wallet has reached the limit of the day. */
export type LimitTestEndUsers = (walletId: string, endUser: string) => Promise<void>;

export interface TestEndUserOptions {
  redis: Redis | undefined;
  secrets: Secrets;
  max: number;
  now?: () => number;
}

const dayMs = 86_400_000;

export function createTestEndUserLimit({ redis, secrets, max, now = Date.now }: TestEndUserOptions): LimitTestEndUsers {
  const addLocally = createLocalSets(max);
  const addShared = redis && createRedisSets(redis, max);
  return async function limitTestEndUsers(walletId, endUser) {
    const day = Math.floor(now() / dayMs);
    const name = `pb:test-end-users:${day}:${walletId}`;
    const member = hmacOf(secrets.writer, "test end user", `${walletId} ${endUser}`).toString("base64url");
    const isMember = (await addShared?.(name, member).catch(() => undefined)) ?? addLocally(name, member);
    if (isMember) return;
    const retryAfterSeconds = Math.ceil(((day + 1) * dayMs - now()) / 1_000);
    const limit = { limit: "wallet_test_end_users", max, windowSeconds: dayMs / 1_000, retryAfterSeconds } as const;
    const reached = `The test keys of this wallet have named ${max.toLocaleString("en-US")} end users today (UTC), which is the limit`;
    const detail = `${reached}. You were not charged. Search for one of them, or retry after the number of seconds in \`Retry-After\`.`;
    throw limitProblem("rate_limited", limit, { detail });
  };
}

const addScript = `
  if redis.call('sismember', KEYS[1], ARGV[1]) == 1 then return 1 end
  if redis.call('scard', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
  redis.call('sadd', KEYS[1], ARGV[1])
  redis.call('pexpire', KEYS[1], ARGV[3])
  return 1`;

/** Redis with our script as a command, which is sent by its hash instead of in full. */
type AddingRedis = Redis & { pbAddMember(name: string, member: string, max: number, ttlMs: number): Promise<number> };

/** Returns whether the member is in the set, to which it is added unless the set is full. */
function createRedisSets(plain: Redis, max: number): (name: string, member: string) => Promise<boolean> {
  plain.defineCommand("pbAddMember", { numberOfKeys: 1, lua: addScript });
  const redis = plain as AddingRedis;
  return async (name, member) => (await redis.pbAddMember(name, member, max, dayMs)) === 1;
}

const maxLocalMembers = 100_000;

/** The sets in memory, for use without Redis. */
function createLocalSets(max: number): (name: string, member: string) => boolean {
  const sets = new Map<string, Set<string>>();
  let members = 0;
  return (name, member) => {
    const existing = sets.get(name);
    if (existing?.has(member)) return true;
    if (existing && existing.size >= max) return false;
    // Clearing everything bounds the memory at the cost of the counts of a day.
    if (members >= maxLocalMembers) {
      sets.clear();
      members = 0;
    }
    sets.set(name, (sets.get(name) ?? new Set()).add(member));
    members += 1;
    return true;
  };
}
