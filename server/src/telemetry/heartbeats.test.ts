import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { Redis } from "ioredis";
import { until } from "../../test/support/assertions/until.ts";
import { startPrivateRedis } from "../../test/support/services/private-redis.ts";
import { startHeartbeats } from "./heartbeats.ts";

const { url } = await startPrivateRedis();
const redis = new Redis(url);
after(() => redis.disconnect());

const recent = { searches: 4, replays: 1, refusals: 2, attempts: 4, own_errors: 0, upstream_errors: 1, p95_ms: 120 };
const load = { load: [1, 1, 1], memory_mb: 90, event_loop_ms_p99: 11 };
const figures = { searches_per_second: 2, recent, ...load, ledger_waiting: 0, clock_offset_s: 0, is_stopping: false };

test("every server reports all servers of the same database, itself first", async () => {
  const database = randomUUID();
  const start = (inFlight: number, name = database) =>
    startHeartbeats({
      redis,
      database: name,
      readFigures: () => ({ ...figures, in_flight: inFlight }),
      intervalMs: 10,
    });
  const servers = [start(1), start(2), start(3, `${database}-other`)];
  const [first, second, other] = servers;
  assert.ok(first && second && other);
  const seenBy = async (server: typeof first) =>
    (await server.read()).servers.map(({ in_flight: inFlight }) => inFlight).join();
  await until("both are seen", async () => (await seenBy(first)) === "1,2" && (await seenBy(second)) === "2,1");
  assert.equal((await first.read()).isComplete, true);
  assert.equal(await seenBy(other), "3");

  // A value that is not a heartbeat, and a server that stopped without removing its own.
  await redis.hset(
    `pb:servers:${database}`,
    "other",
    `${Date.now()} {"id":"other"}`,
    "bad",
    `${Date.now()} {`,
    "gone",
    "1 {}",
  );
  assert.equal(await seenBy(first), "1,2");
  assert.equal(await redis.hexists(`pb:servers:${database}`, "gone"), 0);

  await second.close();
  await until("the second has ended", async () => (await seenBy(first)) === "1");
  await Promise.all([first.close(), other.close()]);
});

test("without Redis, a server reports itself and that others may be missing", async () => {
  const alone = startHeartbeats({ redis: undefined, database: "x", readFigures: () => ({ ...figures, in_flight: 7 }) });
  const { servers, isComplete } = await alone.read();
  assert.deepEqual([servers.length, servers[0]?.in_flight, isComplete], [1, 7, false]);
  assert.ok(servers[0] && servers[0].pid === process.pid && servers[0].uptime_s >= 0);
  await alone.close();
});
