import assert from "node:assert/strict";
import { after, test } from "node:test";
import { until } from "../../test/support/assertions/until.ts";
import { closeAfter } from "../../test/support/close-after.ts";
import { createTestDatabase } from "../../test/support/services/database.ts";
import { TcpProxy } from "../../test/support/services/tcp-proxy.ts";
import { createPool, type Pool, waitForConnection, withTimeout } from "./pool.ts";

const database = await createTestDatabase();
const pools: Pool[] = [];
after(async () => {
  await Promise.all(pools.map((pool) => pool.end()));
  await database.drop();
});

/** With one connection, so that each statement sees the state the previous one left. */
function openPool(isForSingleStatements: boolean, url = database.ledgerUrl): Pool {
  const options = { url, name: "test", connections: 1, statementTimeoutMs: 20_000 };
  const pool = createPool({ ...options, isForSingleStatements, onIdleError: () => {} });
  pools.push(pool);
  return pool;
}

async function readPid(pool: Pool): Promise<number | undefined> {
  const { rows } = await pool.query<{ pid: number }>("select pg_backend_pid() as pid");
  return rows[0]?.pid;
}

for (const isForSingleStatements of [true, false]) {
  const kind = isForSingleStatements ? "a pool for single statements" : "a pool for transactions";

  test(`${kind} runs text, parameterized and prepared statements`, async () => {
    const pool = openPool(isForSingleStatements);
    const pid = await readPid(pool);
    assert.deepEqual((await pool.query("select $1::int + 1 as sum", [41])).rows, [{ sum: 42 }]);
    const statement = { name: "sum", text: "select $1::bigint + 1 as sum", values: [41] };
    for (let time = 0; time < 2; time += 1) assert.deepEqual((await pool.query(statement)).rows, [{ sum: 42n }]);
    assert.equal(await readPid(pool), pid);
  });

  test(`${kind} rejects with PostgreSQL's error and stays usable`, async () => {
    const pool = openPool(isForSingleStatements);
    await assert.rejects(pool.query("select 1 / 0"), { severity: "ERROR", code: "22012" });
    assert.ok(await readPid(pool));
  });

  test(`${kind} times out, and runs the next statement on another connection`, async () => {
    const pool = openPool(isForSingleStatements);
    const pid = await readPid(pool);
    await assert.rejects(pool.query(withTimeout(100, { text: "select pg_sleep(15)" })), /did not respond|timeout/);
    assert.notEqual(await readPid(pool), pid);
  });

  test(`${kind} rejects when the connection breaks, and reconnects`, async () => {
    const pool = openPool(isForSingleStatements);
    await assert.rejects(pool.query("select pg_terminate_backend(pg_backend_pid())"));
    assert.ok(await readPid(pool));
  });
}

test("a process that starts waits for a database that accepts its first connection late", async (t) => {
  const { hostname, port } = new URL(database.ledgerUrl);
  const proxy = closeAfter(new TcpProxy({ host: hostname, port: Number(port) }), t);
  await proxy.listen();
  proxy.pause();
  const late = until("it tries again", () => proxy.connections > 1).then(() => proxy.resume());
  const pool = openPool(true, proxy.through(database.ledgerUrl));
  await waitForConnection(pool);
  await late;
  assert.ok(await readPid(pool));
  await assert.rejects(waitForConnection(openPool(true, database.ledgerUrl.replace(database.name, "none"))), {
    code: /3D000|08P01/,
  });
});
