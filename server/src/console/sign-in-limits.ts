import { isIPv6 } from "node:net";
import type { Redis } from "ioredis";
import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import { Problem } from "../problems.ts";

// How often one place may try and one mailbox may be written to. Counted in Redis for all servers together, and by each
// server alone while Redis is away. They are the same for addresses that are known and that are not.

export interface SignInLimits {
  /** Trying tokens, and asking for them. */
  tryFrom(ip: string): Promise<void>;
  /** A letter to a mailbox, whoever asked for it. */
  writeTo(mailbox: string): Promise<void>;
  /** Letters that one person has us write to others. */
  writeFor(personId: string): Promise<void>;
}

export const mostTries = 60;
export const mostLetters = 5;
export const mostInvitations = 30;
const windowSeconds = 15 * 60;

export function createSignInLimits(redis: Redis | undefined): SignInLimits {
  const tries = createCounter(redis, "pb:sign-in", mostTries);
  const letters = createCounter(redis, "pb:letters", mostLetters);
  const invitations = createCounter(redis, "pb:invitations", mostInvitations);
  return {
    tryFrom: (ip) => take(tries, placeOf(ip)),
    writeTo: (mailbox) => take(letters, mailbox),
    writeFor: (personId) => take(invitations, personId),
  };
}

function createCounter(redis: Redis | undefined, keyPrefix: string, points: number): RateLimiterAbstract {
  const alone = new RateLimiterMemory({ keyPrefix, points, duration: windowSeconds });
  if (!redis) return alone;
  return new RateLimiterRedis({
    storeClient: redis,
    keyPrefix,
    points,
    duration: windowSeconds,
    rejectIfRedisNotReady: true,
    insuranceLimiter: alone,
  });
}

async function take(counter: RateLimiterAbstract, name: string): Promise<void> {
  await counter.consume(name).catch((refused: unknown) => {
    if (!(refused instanceof RateLimiterRes)) throw refused;
    throw new Problem("rate_limited", {
      detail: "That was asked for too often in a short time. Nothing was done. Wait as `Retry-After` says.",
      retryAfterSeconds: Math.max(1, Math.ceil(refused.msBeforeNext / 1_000)),
    });
  });
}

/** Whoever has one IPv6 address has 2^64 of them. */
export function placeOf(ip: string): string {
  if (!isIPv6(ip) || ip.toLowerCase().startsWith("::ffff:")) return ip;
  const [head = "", tail] = ip.split("::");
  const groups = head === "" ? [] : head.split(":");
  const missing = tail === undefined ? 0 : 8 - groups.length - (tail === "" ? 0 : tail.split(":").length);
  const whole = [...groups, ...Array.from({ length: missing }, () => "0"), ...(tail ? tail.split(":") : [])];
  return `${whole.slice(0, 4).join(":")}::/64`;
}
