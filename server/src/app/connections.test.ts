import assert from "node:assert/strict";
import { after, test } from "node:test";
import { until } from "../../test/support/assertions/until.ts";
import { closeAfter } from "../../test/support/close-after.ts";
import { readSamples } from "../../test/support/docs/read-samples.ts";
import { createTestDatabase } from "../../test/support/services/database.ts";
import { startPrivateRedis } from "../../test/support/services/private-redis.ts";
import { serverConnections } from "../db/connection-counts.ts";
import { createLog } from "../telemetry/log.ts";
import { createMetrics } from "../telemetry/metrics.ts";
import { openConnections, watchRedis } from "./connections.ts";

const database = await createTestDatabase();
after(() => database.drop());

/** Nothing connects before the first statement. */
const unused = "postgres://test@127.0.0.1:1/none";

function open(changes: Partial<Parameters<typeof openConnections>[0]> = {}) {
  return openConnections(
    {
      ledgerDatabaseUrl: unused,
      tenantDatabaseUrl: unused,
      paymentsDatabaseUrl: unused,
      operatorDatabaseUrl: unused,
      peopleDatabaseUrl: unused,
      databasePooler: "none",
      databaseRequestMs: 6_000,
      redisUrl: undefined,
      redisTimeoutMs: 1,
      ...changes,
    },
    createLog("silent"),
  );
}

/** The values of the series whose name and labels match. */
async function readValues(
  metrics: { render: () => Promise<string> },
  name: string,
  labels: object = {},
): Promise<number[]> {
  const samples = readSamples(await metrics.render());
  const isWanted = (sample: (typeof samples)[number]): boolean =>
    sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value);
  return samples.filter(isWanted).map(({ value }) => value);
}

test("only the ledger's statements, which are sent again, wait less for a connection than other requests", async () => {
  const connections = open();
  const { ledgerPool, tenantPool, paymentsPool, operatorPool, peoplePool } = connections;
  const waits = { ledgerPool, tenantPool, paymentsPool, operatorPool, peoplePool };
  assert.deepEqual(
    Object.entries(waits).map(([name, pool]) => [name, pool?.options.connectionTimeoutMillis]),
    [
      ["ledgerPool", 2_000],
      ["tenantPool", 6_000],
      ["paymentsPool", 6_000],
      ["operatorPool", 6_000],
      ["peoplePool", 6_000],
    ],
  );
  await connections.close();
});

test("the metrics have the connections of each pool and what waits for one", async (t) => {
  const connections = closeAfter(open({ tenantDatabaseUrl: database.tenantUrl, operatorDatabaseUrl: undefined }), t);
  const metrics = createMetrics();
  t.after(() => metrics.close());
  metrics.watchPools(connections.pools);
  const read = (name: string) =>
    readValues(metrics, `db_client_connection_${name}`, { db_client_connection_pool_name: "tenant" });

  const { tenantPool } = connections;
  const clients = await Promise.all(Array.from({ length: serverConnections.tenant }, () => tenantPool.connect()));
  const waiting = tenantPool.query("select 1");
  assert.deepEqual([await read("count"), await read("max"), await read("pending_requests")], [[0, 4], [4], [1]]);
  for (const client of clients) client.release();
  await waiting;
  assert.deepEqual([await read("count"), await read("pending_requests")], [[4, 0], [0]]);
  const pools = await readValues(metrics, "db_client_connection_max");
  assert.equal(pools.length, 4, "a pool that is not configured has no series");
});

test("the metrics show a Redis that does not respond although it is connected", async (t) => {
  const redis = await startPrivateRedis();
  const connections = closeAfter(open({ redisUrl: redis.url, redisTimeoutMs: 200 }), t);
  const watch = watchRedis(connections.redis, 10);
  assert.ok(watch);
  t.after(() => watch.close());
  const metrics = createMetrics();
  t.after(() => metrics.close());
  metrics.watchDependency("redis", watch.isAvailable);
  const read = () => readValues(metrics, "pennyblack_dependency_up", { dependency: "redis" });

  await until("it responds", async () => (await read())[0] === 1);
  redis.process.kill("SIGSTOP");
  await until("it does not respond", async () => (await read())[0] === 0);
  redis.process.kill("SIGCONT");
  await until("it responds again", async () => (await read())[0] === 1);
});
