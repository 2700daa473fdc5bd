import { timingSafeEqual } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import type { Redis } from "ioredis";
import { hmacOf, type Secrets } from "../lib/secrets.ts";
import { type DatabaseIdentity, type Fence, RefusedDatabase, readIdentity } from "./fence.ts";
import type { Queryable } from "./pool.ts";

// Servers share the latest timeline through Redis, so that one that has just started, or whose connections still work, learns
// of a promotion that another one has seen. It cannot be a row in the database, because an old primary does not have it. The
// value is signed, so that a wrong one is ignored instead of stopping every server. Without Redis each process knows only
// what it has seen itself, and what the replicas know.

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

export function startTimelineSharing(options: TimelineSharingOptions): TimelineSharing {
  const { fence, db, redis, secrets, databaseUrl, intervalMs = 1_000 } = options;

  async function refresh(): Promise<void> {
    const own = await readIdentity(db);
    // Statements carry the latest timeline, so an old primary needs no handling here.
    if (own) fence.learn(own);
    if (!redis || !fence.latest) return;
    const shared = await readSharedTimeline(redis, databaseUrl, secrets);
    if (shared) fence.learn(shared);
    const isBehind =
      shared?.systemIdentifier === fence.latest.systemIdentifier && shared.timeline < fence.latest.timeline;
    if (!shared || isBehind) await shareTimeline(redis, databaseUrl, secrets, fence.latest);
  }

  let running = Promise.resolve();
  const timer = setInterval(() => {
    running = running.then(refresh).catch(() => undefined);
  }, intervalMs).unref();

  return {
    async start() {
      const shared = redis && (await readWithRetries(() => readSharedTimeline(redis, databaseUrl, secrets)));
      if (shared && shared.systemIdentifier === fence.latest?.systemIdentifier) fence.learn(shared);
      else if (shared) fence.require(shared);
      try {
        // A connection can be older than the shared timeline is known.
        const own = await readIdentity(db);
        if (own) fence.pass(own);
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
async function readWithRetries(
  read: () => Promise<DatabaseIdentity | undefined>,
): Promise<DatabaseIdentity | undefined> {
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

/** Replaces the database in use. */
export async function shareTimeline(
  redis: Redis,
  databaseUrl: string,
  secrets: Secrets,
  { systemIdentifier, timeline }: DatabaseIdentity,
): Promise<void> {
  const text = `${systemIdentifier} ${timeline}`;
  const signature = hmacOf(secrets.writer, "timeline", `${databaseNameOf(databaseUrl)} ${text}`).toString("hex");
  await redis.set(keyOf(databaseUrl), `${text} ${signature}`, "EX", keepSeconds);
}

export async function readSharedTimeline(
  redis: Redis,
  databaseUrl: string,
  secrets: Secrets,
): Promise<DatabaseIdentity | undefined> {
  const value = await redis.get(keyOf(databaseUrl));
  const [, systemIdentifier, timeline, signature = ""] =
    /^(\d{1,20}) (\d{1,9}) ([0-9a-f]{64})$/.exec(value ?? "") ?? [];
  if (systemIdentifier === undefined || timeline === undefined) return undefined;
  const isSigned = secrets.all.some((secret) =>
    timingSafeEqual(
      hmacOf(secret, "timeline", `${databaseNameOf(databaseUrl)} ${systemIdentifier} ${timeline}`),
      Buffer.from(signature, "hex"),
    ),
  );
  return isSigned ? { systemIdentifier, timeline: Number(timeline) } : undefined;
}

/** By which the servers of a database share keys in Redis. */
export function databaseNameOf(databaseUrl: string): string {
  return /\/([^/?]*)(?:\?.*)?$/.exec(databaseUrl)?.[1] ?? "";
}

function keyOf(databaseUrl: string): string {
  return `pb:timeline:${databaseNameOf(databaseUrl)}`;
}
