import { isIPv6 } from "node:net";
import type { Redis } from "ioredis";
import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import { type LimitName, limitProblem } from "../problems/exceeded-limit.ts";

// Rate limits for sign-in attempts per network and emails per mailbox. Counted in Redis across all servers, or per
// process while Redis is unavailable. They do not depend on whether an address is known.

export interface SignInLimits {
  /** Requests and redemptions of tokens from one network. */
  limitAttempts(ip: string): Promise<void>;
  /** Emails to one mailbox, from any requester. */
  limitEmailsTo(mailbox: string): Promise<void>;
  /** Emails to others on behalf of one person. */
  limitEmailsBy(personId: string): Promise<void>;
}

export const maxAttempts = 60;
export const maxEmails = 5;
export const maxInvitations = 30;
const windowSeconds = 15 * 60;

export function createSignInLimits(redis: Redis | undefined): SignInLimits {
  const attempts = createLimiter(redis, "pb:sign-in", maxAttempts);
  const emails = createLimiter(redis, "pb:emails", maxEmails);
  const invitations = createLimiter(redis, "pb:invitations", maxInvitations);
  return {
    limitAttempts: (ip) => consume(attempts, networkOf(ip), { limit: "network_sign_ins", max: maxAttempts }),
    limitEmailsTo: (mailbox) => consume(emails, mailbox, { limit: "mailbox_emails", max: maxEmails }),
    limitEmailsBy: (personId) => consume(invitations, personId, { limit: "person_emails", max: maxInvitations }),
  };
}

function createLimiter(redis: Redis | undefined, keyPrefix: string, points: number): RateLimiterAbstract {
  const memoryLimiter = new RateLimiterMemory({ keyPrefix, points, duration: windowSeconds });
  if (!redis) return memoryLimiter;
  return new RateLimiterRedis({
    storeClient: redis,
    keyPrefix,
    points,
    duration: windowSeconds,
    rejectIfRedisNotReady: true,
    insuranceLimiter: memoryLimiter,
  });
}

async function consume(
  limiter: RateLimiterAbstract,
  key: string,
  exceeded: { limit: LimitName; max: number },
): Promise<void> {
  await limiter.consume(key).catch((rejected: unknown) => {
    if (!(rejected instanceof RateLimiterRes)) throw rejected;
    const retryAfterSeconds = Math.max(1, Math.ceil(rejected.msBeforeNext / 1_000));
    throw limitProblem(
      "rate_limited",
      { ...exceeded, windowSeconds, retryAfterSeconds },
      { detail: "Too many attempts. Nothing was done. Retry after the number of seconds in `Retry-After`." },
    );
  });
}

/** A client with one IPv6 address usually has the whole /64. */
export function networkOf(ip: string): string {
  if (!isIPv6(ip) || ip.toLowerCase().startsWith("::ffff:")) return ip;
  const [head = "", tail] = ip.split("::");
  const groups = head === "" ? [] : head.split(":");
  const missing = tail === undefined ? 0 : 8 - groups.length - (tail === "" ? 0 : tail.split(":").length);
  const allGroups = [...groups, ...Array.from({ length: missing }, () => "0"), ...(tail ? tail.split(":") : [])];
  return `${allGroups.slice(0, 4).join(":")}::/64`;
}
