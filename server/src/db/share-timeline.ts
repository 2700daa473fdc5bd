import { timingSafeEqual } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import type { Redis } from "ioredis";
import { hmacOf, type Secrets } from "../lib/secrets.ts";
import {
  checkIdentity,
  type DatabaseIdentity,
  type Fence,
  formatIdentity,
  missingFrom,
  parseIdentity,
  RefusedDatabase,
} from "./fence.ts";
import type { Queryable } from "./pool.ts";

// Servers share the history of timelines through Redis, so that a server that has just started, or whose connections still work, learns
// of a promotion that another one has seen. It cannot be a row in the database, because an old primary does not have it. The
// value is signed, so that a wrong one is ignored instead of stopping every server. Without Redis each process knows only
// the history that it and the replicas have seen.

export interface TimelineSharing {
  /**
   * Adopts the shared timeline. Returns why this process must not use its database, or undefined if it may. Rejects if the
   * database is unavailable.
   */
  start(): Promise<string | undefined>;
  close(): Promise<void>;
}

export interface TimelineSharingOptions {
  fence: Fence;
  /** Its timeline is read too, because a pooler does not close connections on a promotion. */
  db: Queryable;
  redis: Redis | undefined;
  secrets: Secrets;
  databaseUrl: string;
  intervalMs?: number;
}

const maxWaitMs = 2_000;
const keepSeconds = 7 * 86_400;
/** Timelines in the history that is shared. Older ones were replaced long ago. */
const maxShared = 20;

export function startTimelineSharing(options: TimelineSharingOptions): TimelineSharing {
  const { fence, db, redis, secrets, databaseUrl, intervalMs = 1_000 } = options;

  /** When the database in use was accepted by an operator. */
  let acceptedAt = 0;

  async function refresh(): Promise<void> {
    await checkIdentity(db, fence).catch((error: unknown) => {
      // Statements name the expected timeline, so they are refused.
      if (!(error instanceof RefusedDatabase)) throw error;
    });
    if (!redis || !fence.latest) return;
    const shared = await readSharedTimeline(redis, databaseUrl, secrets);
    if (shared) adopt(shared);
    if (!shared || isOutdated(shared))
      await shareTimeline(redis, databaseUrl, secrets, { ...fence.latest, acceptedAt });
  }

  function adopt(shared: SharedTimeline): void {
    if (shared.acceptedAt > acceptedAt) fence.require(shared);
    else if (shared.acceptedAt === acceptedAt) fence.learn(shared);
    acceptedAt = Math.max(acceptedAt, shared.acceptedAt);
  }

  function isOutdated(shared: SharedTimeline): boolean {
    if (!fence.latest || shared.systemIdentifier !== fence.latest.systemIdentifier) return false;
    return (
      shared.acceptedAt < acceptedAt ||
      shared.timeline < fence.latest.timeline ||
      missingFrom(shared.history, fence.latest.history.slice(-maxShared)) !== undefined
    );
  }

  let running = Promise.resolve();
  const timer = setInterval(() => {
    running = running.then(refresh).catch(() => undefined);
  }, intervalMs).unref();

  return {
    async start() {
      const shared = redis && (await readWithRetries(() => readSharedTimeline(redis, databaseUrl, secrets)));
      if (shared && shared.systemIdentifier === fence.latest?.systemIdentifier) adopt(shared);
      else if (shared) {
        fence.require(shared);
        acceptedAt = shared.acceptedAt;
      }
      try {
        // A connection can be older than the shared timeline.
        await checkIdentity(db, fence);
      } catch (error) {
        if (error instanceof RefusedDatabase) return error.message;
        throw error;
      }
      return undefined;
    },
    async close() {
      clearInterval(timer);
      await running;
    },
  };
}

/** Commands have a short timeout, and the first ones are sent while Redis is still being connected. */
async function readWithRetries(read: () => Promise<SharedTimeline | undefined>): Promise<SharedTimeline | undefined> {
  const deadline = performance.now() + maxWaitMs;
  for (;;) {
    try {
      return await read();
    } catch {
      if (performance.now() > deadline) return undefined;
      await wait(20);
    }
  }
}

export interface SharedTimeline extends DatabaseIdentity {
  /** Milliseconds. Replaces everything that was accepted earlier, even in running processes. 0: not by an operator. */
  acceptedAt: number;
}

/** Replaces the database in use. */
export async function shareTimeline(
  redis: Redis,
  databaseUrl: string,
  secrets: Secrets,
  { acceptedAt, ...identity }: SharedTimeline,
): Promise<void> {
  const history = identity.history.slice(-maxShared);
  const text = `${acceptedAt} ${formatIdentity({ ...identity, history })}`;
  const signature = hmacOf(secrets.writer, "timeline", `${databaseNameOf(databaseUrl)} ${text}`).toString("hex");
  await redis.set(keyOf(databaseUrl), `${signature} ${text}`, "EX", keepSeconds);
}

export async function readSharedTimeline(
  redis: Redis,
  databaseUrl: string,
  secrets: Secrets,
): Promise<SharedTimeline | undefined> {
  const value = await redis.get(keyOf(databaseUrl));
  const [, signature = "", text] = /^([0-9a-f]{64}) (\d+ \d+ \d+ \S*)$/.exec(value ?? "") ?? [];
  if (text === undefined) return undefined;
  const isSigned = secrets.all.some((secret) =>
    timingSafeEqual(
      hmacOf(secret, "timeline", `${databaseNameOf(databaseUrl)} ${text}`),
      Buffer.from(signature, "hex"),
    ),
  );
  if (!isSigned) return undefined;
  const [acceptedAt = ""] = text.split(" ", 1);
  const { systemIdentifier, timeline, history } = parseIdentity(text.slice(acceptedAt.length + 1));
  return { systemIdentifier, timeline, history, acceptedAt: Number(acceptedAt) };
}

/** Identifies the database in the Redis keys that its servers share. */
export function databaseNameOf(databaseUrl: string): string {
  return /\/([^/?]*)(?:\?.*)?$/.exec(databaseUrl)?.[1] ?? "";
}

function keyOf(databaseUrl: string): string {
  return `pb:timeline:${databaseNameOf(databaseUrl)}`;
}
