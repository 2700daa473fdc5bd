import type { Redis } from "ioredis";
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import { type LimitName, limitProblem } from "../problems/exceeded-limit.ts";

export interface WindowLimit {
  /** Prefix of its keys in Redis. */
  name: string;
  limit: LimitName;
  max: number;
  windowSeconds: number;
  /** Start of the error detail, without the final full stop. Advice to retry is appended. */
  fault: string;
}

/** Counts one use by an owner, or rejects with 429. */
export type CountUse = (owner: string) => Promise<void>;

/** Allows each owner `max` uses per window. Redis counts them for all servers; without it, each server counts its own. */
export function createWindowLimit(redis: Redis | undefined, window: WindowLimit): CountUse {
  const { name, limit, max, windowSeconds, fault } = window;
  const detail = `${fault}. Retry after the number of seconds in \`Retry-After\`.`;
  const options = { keyPrefix: `pb:${name}`, points: max, duration: windowSeconds };
  const local = new RateLimiterMemory(options);
  const limiter = redis
    ? new RateLimiterRedis({ ...options, storeClient: redis, rejectIfRedisNotReady: true, insuranceLimiter: local })
    : local;
  return async function countUse(owner) {
    await limiter.consume(owner).catch((rejection: unknown) => {
      if (!(rejection instanceof RateLimiterRes)) throw rejection;
      const retryAfterSeconds = Math.max(1, Math.ceil(rejection.msBeforeNext / 1_000));
      throw limitProblem("rate_limited", { limit, max, windowSeconds, retryAfterSeconds }, { detail });
    });
  };
}
