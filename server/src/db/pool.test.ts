import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase } from "../../test/database.ts";
import { createPool, type Pool, within } from "./pool.ts";

const database = await createTestDatabase();
const pools: Pool[] = [];
after(async () => {
  await Promise.all(pools.map((pool) => pool.end()));
  await database.drop();
});

/** Of one connection: what one statement leaves behind, the next one meets. */
function openPool(isForSingleStatements: boolean): Pool {
  const options = { url: database.ledgerUrl, name: "test", connections: 1, statementTimeoutMs: 20_000 };
  const pool = createPool({ ...options, isForSingleStatements, onIdleError: () => {} });
  pools.push(pool);
  return pool;
}

async function readPid(pool: Pool): Promise<number | undefined> {
  const { rows } = await pool.query<{ pid: number }>("select pg_backend_pid() as pid");
  return rows[0]?.pid;
}

for (const isForSingleStatements of [true, false]) {
  const kind = isForSingleStatements ? "a pool for single statements" : "a pool for anything";

  test(`${kind} answers words, words with values, and prepared statements, one after the other`, async () => {
    const pool = openPool(isForSingleStatements);
    const pid = await readPid(pool);
    assert.deepEqual((await pool.query("select $1::int + 1 as sum", [41])).rows, [{ sum: 42 }]);
    const statement = { name: "sum", text: "select $1::bigint + 1 as sum", values: [41] };
    for (let time = 0; time < 2; time += 1) assert.deepEqual((await pool.query(statement)).rows, [{ sum: 42n }]);
    assert.equal(await readPid(pool), pid);
  });

  test(`${kind} tells PostgreSQL's refusal as it came, and goes on`, async () => {
    const pool = openPool(isForSingleStatements);
    await assert.rejects(pool.query("select 1 / 0"), { severity: "ERROR", code: "22012" });
    assert.ok(await readPid(pool));
  });

  test(`${kind} waits no longer than it is told, and asks the next on another connection`, async () => {
    const pool = openPool(isForSingleStatements);
    const pid = await readPid(pool);
    const began = performance.now();
    await assert.rejects(pool.query(within(100, { text: "select pg_sleep(15)" })), /silent|timeout/);
    assert.notEqual(await readPid(pool), pid);
    assert.ok(performance.now() - began < 10_000);
  });

  test(`${kind} tells a connection that broke`, async () => {
    const pool = openPool(isForSingleStatements);
    await assert.rejects(pool.query("select pg_terminate_backend(pg_backend_pid())"));
    assert.ok(await readPid(pool));
  });
}
