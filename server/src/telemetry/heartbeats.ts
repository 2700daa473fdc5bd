import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Redis } from "ioredis";
import { type Static, Type } from "typebox";
import { Compile } from "typebox/compile";
import { version } from "../lib/version.ts";

// Every server writes its current figures to Redis every two seconds, so that the operator's console shows all servers,
// regardless of the one it is connected to. Nothing is written per search. Without Redis a server knows only itself.

const figuresSchema = Type.Object({
  in_flight: Type.Number(),
  searches_per_second: Type.Number(),
  recent: Type.Object({
    searches: Type.Number(),
    replays: Type.Number(),
    refusals: Type.Number(),
    attempts: Type.Number(),
    own_errors: Type.Number(),
    upstream_errors: Type.Number(),
    p95_ms: Type.Union([Type.Number(), Type.Null()]),
  }),
  load: Type.Array(Type.Number()),
  memory_mb: Type.Number(),
  event_loop_ms_p99: Type.Number(),
  ledger_waiting: Type.Number(),
  clock_offset_s: Type.Number(),
  is_stopping: Type.Boolean(),
});

const serverSchema = Type.Intersect([
  Type.Object({
    id: Type.String(),
    host: Type.String(),
    pid: Type.Number(),
    version: Type.String(),
    uptime_s: Type.Number(),
  }),
  figuresSchema,
]);

export type ServerStatus = Static<typeof serverSchema>;

export interface LiveServers {
  /** This server first. */
  servers: ServerStatus[];
  /** False if there can be others: Redis is unavailable or not configured. */
  isComplete: boolean;
}

export interface Heartbeats {
  read(): Promise<LiveServers>;
  close(): Promise<void>;
}

export interface HeartbeatOptions {
  redis: Redis | undefined;
  /** Servers of the same database are shown together. */
  database: string;
  readFigures: () => Static<typeof figuresSchema>;
  intervalMs?: number;
}

const validator = Compile(serverSchema);
/** A server that missed several heartbeats is gone. */
const maxAgeMs = 10_000;
const attempts = 3;

export function startHeartbeats({
  redis: plainRedis,
  database,
  readFigures,
  ...options
}: HeartbeatOptions): Heartbeats {
  plainRedis?.defineCommand("pbBeat", { numberOfKeys: 1, lua: beatScript });
  plainRedis?.defineCommand("pbServers", { numberOfKeys: 1, lua: serversScript });
  const redis = plainRedis as HeartbeatRedis | undefined;
  const key = `pb:servers:${database}`;
  const id = randomUUID();
  const describe = (): ServerStatus => {
    const uptime = Math.floor(process.uptime());
    return { id, host: hostname(), pid: process.pid, version, uptime_s: uptime, ...readFigures() };
  };

  // A missed heartbeat is followed by the next one.
  const beat = (): Promise<unknown> =>
    redis?.pbBeat(key, id, JSON.stringify(describe())).catch(() => undefined) ?? Promise.resolve();
  const timer = setInterval(() => {
    beat().catch(() => undefined);
  }, options.intervalMs ?? 2_000).unref();
  redis?.once("ready", () => {
    beat().catch(() => undefined);
  });

  /** Undefined if Redis is unavailable. Its commands have a short timeout, so a single failure means nothing. */
  async function readShared(): Promise<string[] | undefined> {
    if (!redis) return undefined;
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const found = await redis.pbServers(key, maxAgeMs).catch(() => undefined);
      if (found) return found;
    }
    return undefined;
  }

  return {
    async read() {
      const shared = await readShared();
      const others = (shared ?? [])
        .map(parseServer)
        .filter((server) => server !== undefined)
        .filter((server) => server.id !== id)
        .toSorted((a, b) => a.id.localeCompare(b.id));
      return { servers: [describe(), ...others], isComplete: shared !== undefined };
    },
    async close() {
      clearInterval(timer);
      await redis?.hdel(key, id).catch(() => undefined);
    },
  };
}

/** Servers of another release may send other figures; they are left out until the upgrade is complete. */
function parseServer(text: string): ServerStatus | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return validator.Check(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Redis with our scripts as commands. */
type HeartbeatRedis = Redis & {
  pbBeat(key: string, id: string, text: string): Promise<unknown>;
  pbServers(key: string, maxAgeMs: number): Promise<string[]>;
};

// A hash with a field per server. The clock of Redis decides which ones are current.
const beatScript = `
  local now = redis.call('time')
  redis.call('hset', KEYS[1], ARGV[1], string.format('%d', now[1] * 1000 + math.floor(now[2] / 1000)) .. ' ' .. ARGV[2])
  redis.call('expire', KEYS[1], 60)
  return 1`;

const serversScript = `
  local now = redis.call('time')
  local oldest = now[1] * 1000 + math.floor(now[2] / 1000) - ARGV[1]
  local entries = redis.call('hgetall', KEYS[1])
  local found = {}
  for i = 1, #entries, 2 do
    local ms, text = string.match(entries[i + 1], '^(%d+) (.*)$')
    if ms and tonumber(ms) >= oldest then table.insert(found, text)
    else redis.call('hdel', KEYS[1], entries[i]) end
  end
  return found`;
