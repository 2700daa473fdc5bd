import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { appendFileSync, chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { createPool } from "../../src/db/pool.ts";
import { findAccount } from "../../src/dev/postgres-programs.ts";
import { formatReport, reconcile } from "../../src/wallet/upkeep/reconcile.ts";
import { type DelayedUpstream, startDelayedUpstream } from "../faults/crashes/delayed-upstream.ts";
import { sendSearch } from "../faults/send-search.ts";
import { until } from "../support/assertions/until.ts";
import { runAdmin } from "../support/services/admin-process.ts";
import { createTestDatabase, type TestDatabase } from "../support/services/database.ts";
import { type PrivatePostgres, startPrivatePostgres } from "../support/services/private-postgres.ts";
import { createTestWallet, type TestWallet, testEnvironment } from "../support/services/server.ts";
import { type ServerProcess, startServerProcess } from "../support/services/server-process.ts";
import { runSql } from "./run-sql.ts";

// Backup, data loss and restore with the scripts that operators use, on separate clusters.

const scripts = resolve(import.meta.dirname, "../../../deploy/backup");
const account = findAccount();
const folder = mkdtempSync(join(tmpdir(), "pennyblack-backup-"));
chmodSync(folder, 0o777);
const [archive, backups] = [join(folder, "archive"), join(folder, "backups")];
for (const path of [archive, backups]) {
  mkdirSync(path);
  chmodSync(path, 0o777);
}

let postgres: PrivatePostgres;
let db: TestDatabase;
let upstream: DelayedUpstream;
let wallet: TestWallet;

before(async () => {
  const command = `${join(scripts, "archive-wal")} ${archive} %p %f`;
  postgres = await startPrivatePostgres({ settings: ["archive_mode=on", `archive_command=${command}`] });
  db = await createTestDatabase(postgres.superuserUrl);
  upstream = await startDelayedUpstream();
  wallet = await createTestWallet(db, "5.00");
});

after(async () => {
  await upstream.close();
  await db.drop().catch(() => undefined);
  await postgres.close();
  rmSync(folder, { recursive: true, force: true });
});

interface ScriptRun {
  code: number | string;
  stdout: string;
  stderr: string;
}

function runScript(name: string, args: string[], environment: Record<string, string> = {}): Promise<ScriptRun> {
  const env = { PATH: `${postgres.programs}:/usr/bin:/bin`, ...environment };
  return new Promise((done) => {
    execFile(join(scripts, name), args, { ...account, cwd: folder, env, timeout: 60_000 }, (error, stdout, stderr) =>
      done({ code: error === null ? 0 : (error.code ?? error.signal ?? "unknown"), stdout: stdout.trim(), stderr }),
    );
  });
}

async function mustRun(...call: Parameters<typeof runScript>): Promise<string> {
  const { code, stdout, stderr } = await runScript(...call);
  assert.equal(code, 0, stderr);
  return stdout;
}

/** The same database in another cluster. */
async function openAt(port: number): Promise<TestDatabase> {
  const moved = (url: string): string => Object.assign(new URL(url), { port: String(port) }).href;
  const urls = {
    superuserUrl: moved(db.superuserUrl),
    ownerUrl: moved(db.ownerUrl),
    ledgerUrl: moved(db.ledgerUrl),
    tenantUrl: moved(db.tenantUrl),
    paymentsUrl: moved(db.paymentsUrl),
    peopleUrl: moved(db.peopleUrl),
    workerUrl: moved(db.workerUrl),
  };
  const owner = createPool({ url: urls.ownerUrl, name: "test", connections: 2, onIdleError: () => {} });
  return { ...db, ...urls, owner, drop: () => owner.end() };
}

async function searchAndPay(server: ServerProcess, searches: number): Promise<void> {
  for (let paid = 0; paid < searches; paid += 1) {
    const outcome = await sendSearch(server.url, { wallet, query: randomUUID(), idempotencyKey: randomUUID() });
    assert.ok(outcome.kind === "answered" && outcome.status === 200, JSON.stringify(outcome));
  }
}

const startServer = (at: TestDatabase) => startServerProcess(at, { PENNYBLACK_SEARXNG_URL: upstream.url });

async function stopServer(server: ServerProcess): Promise<void> {
  server.process.kill("SIGKILL");
  await server.ended;
}

async function spentMicros(at: TestDatabase): Promise<bigint> {
  const { rows } = await at.owner.query<{ spent: bigint }>(
    "select debited_micros as spent from pb.wallets where id = $1",
    [wallet.walletId],
  );
  return rows[0]?.spent ?? -1n;
}

async function assertClean(at: TestDatabase): Promise<void> {
  const report = await reconcile(at.owner);
  assert.ok(report.isClean, formatReport(report));
  assert.ok(report.checks.some(({ name, compared }) => name === "captures" && compared > 0));
}

test("a base backup and the WAL restore the moment before data loss, and searches continue", async () => {
  const server = await startServer(db);
  await searchAndPay(server, 5);
  const backup = await mustRun("base-backup", [postgres.superuserUrl, backups]);
  await searchAndPay(server, 5);
  const { rows } = await db.owner.query<{ at: string }>("select clock_timestamp()::text as at");
  await searchAndPay(server, 3);
  await stopServer(server);
  // The data loss. A WAL segment is archived when it is full, or after archive_timeout.
  await db.owner.query("drop schema pb cascade");
  await switchWal();

  const data = join(folder, "restored");
  await mustRun("restore-base", [backup, archive, data, rows[0]?.at ?? ""]);
  assert.equal((await runScript("restore-base", [backup, archive, data])).code, 1, "existing data is not overwritten");
  const restored = await startPrivatePostgres({ data });
  const moved = await openAt(restored.port);
  try {
    await until("it accepts writes", () => acceptsWrites(moved));
    assert.equal(await spentMicros(moved), 100_000n, "ten searches were paid before that moment");
    await assertClean(moved);
    const next = await startServer(moved);
    await searchAndPay(next, 4);
    assert.equal(await spentMicros(moved), 140_000n);
    await assertClean(moved);
    await stopServer(next);
  } finally {
    await moved.drop();
    await restored.close();
  }
});

test("the complete WAL restores every search that was paid before the primary was lost", async () => {
  // The test above dropped the schema.
  await db.drop();
  db = await createTestDatabase(postgres.superuserUrl);
  wallet = await createTestWallet(db, "5.00");
  const server = await startServer(db);
  await searchAndPay(server, 2);
  const backup = await mustRun("base-backup", [postgres.superuserUrl, backups]);
  await searchAndPay(server, 6);
  await stopServer(server);
  await switchWal();
  await postgres.killPostmaster();

  const data = join(folder, "latest");
  await mustRun("restore-base", [backup, archive, data]);
  const restored = await startPrivatePostgres({ data });
  const moved = await openAt(restored.port);
  try {
    await until("it accepts writes", () => acceptsWrites(moved));
    assert.equal(await spentMicros(moved), 80_000n);
    await assertClean(moved);
  } finally {
    await moved.drop();
    await restored.close();
    await postgres.restart();
  }
});

test("a dump is restored in an empty cluster, and searches continue", async () => {
  const settings = { PENNYBLACK_DIRECT_DATABASE_URL: db.ownerUrl };
  const file = await mustRun("dump", [backups], settings);
  const spent = await spentMicros(db);
  assert.match((await runScript("restore-dump", [file], settings)).stderr, /not empty/);

  const empty = await startPrivatePostgres();
  const moved = await openAt(empty.port);
  try {
    const environment = {
      ...testEnvironment(moved),
      PENNYBLACK_WORKER_DATABASE_URL: moved.workerUrl,
      PENNYBLACK_DIRECT_DATABASE_URL: moved.ownerUrl,
      PENNYBLACK_ADMIN_DATABASE_URL: empty.superuserUrl,
    };
    const made = await runAdmin(environment, "database", "roles");
    assert.equal(made.exitCode, 0, made.stderr);
    await mustRun("restore-dump", [file], { PENNYBLACK_DIRECT_DATABASE_URL: moved.ownerUrl });
    assert.equal(await spentMicros(moved), spent);
    await assertClean(moved);
    const server = await startServer(moved);
    await searchAndPay(server, 3);
    assert.equal(await spentMicros(moved), spent + 30_000n);
    await assertClean(moved);
    await stopServer(server);
  } finally {
    await moved.drop();
    await empty.close();
  }

  appendFileSync(file, "extra bytes");
  assert.match((await runScript("restore-dump", [file], settings)).stderr, /did NOT match/);
});

test("the archive never overwrites a different file of the same name, and accepts an identical one", async () => {
  const [one, other] = [join(folder, "one"), join(folder, "other")];
  writeFileSync(one, "one");
  writeFileSync(other, "other");
  assert.equal((await runScript("archive-wal", [archive, one, "name"])).code, 0);
  assert.equal((await runScript("archive-wal", [archive, one, "name"])).code, 0);
  assert.equal((await runScript("archive-wal", [archive, other, "name"])).code, 1);
  assert.deepEqual(
    readdirSync(archive).filter((file) => file.endsWith(".part")),
    [],
  );
});

async function switchWal(): Promise<void> {
  const sql = "select pg_walfile_name(pg_current_wal_insert_lsn()) as file, pg_switch_wal()";
  const [switched] = await runSql<{ file: string }>(db.superuserUrl, sql);
  await until("the WAL segment is archived", () => readdirSync(archive).includes(switched?.file ?? ""));
}

async function acceptsWrites(at: TestDatabase): Promise<boolean> {
  const { rows } = await at.owner.query<{ in_recovery: boolean }>("select pg_is_in_recovery() as in_recovery");
  return rows[0]?.in_recovery === false;
}
