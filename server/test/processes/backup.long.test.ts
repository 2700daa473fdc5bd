import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import type { DrillResult } from "../../../deploy/pgbackrest/run-drill.ts";
import { createPool } from "../../src/db/pool.ts";
import { findAccount } from "../../src/dev/postgres-programs.ts";
import { formatReport, reconcile } from "../../src/wallet/upkeep/reconcile.ts";
import { type DelayedUpstream, startDelayedUpstream } from "../faults/crashes/delayed-upstream.ts";
import { sendSearch } from "../faults/send-search.ts";
import { until } from "../support/assertions/until.ts";
import { readSamples } from "../support/docs/read-samples.ts";
import { spawnAdmin } from "../support/services/admin-process.ts";
import { createTestDatabase, type TestDatabase } from "../support/services/database.ts";
import { preparePgBackRest, stanza } from "../support/services/pgbackrest.ts";
import { type PrivatePostgres, startPrivatePostgres } from "../support/services/private-postgres.ts";
import { findPrometheus } from "../support/services/prometheus-programs.ts";
import { createTestWallet, type TestWallet, testEnvironment } from "../support/services/server.ts";
import { failServerProcess, type ServerProcess, startServerProcess } from "../support/services/server-process.ts";
import { startWorkerProcess } from "../support/services/worker-process.ts";
import { runSql } from "./run-sql.ts";

// Backup, data loss and restore with the configuration and the scripts that operators use, on separate clusters.

const deploy = resolve(import.meta.dirname, "../../../deploy");
const account = findAccount();
const folder = mkdtempSync(join(tmpdir(), "pennyblack-backup-"));
chmodSync(folder, 0o777);
const dumps = join(folder, "dumps");
mkdirSync(dumps);
chmodSync(dumps, 0o777);

const isInstalled = spawnSync("pgbackrest", ["version"]).status === 0;
const skip = process.env["CI"] === undefined && !isInstalled && "pgbackrest is missing; .ci/run installs Debian's";
const backRest = preparePgBackRest(folder);

/** Servers share through Redis which database is in use. */
const shared = { REDIS_URL: process.env["PENNYBLACK_TEST_REDIS_URL"] ?? "redis://127.0.0.1:6379" };

let postgres: PrivatePostgres;
let db: TestDatabase;
let upstream: DelayedUpstream;
let wallet: TestWallet;

before(async () => {
  postgres = await startPrivatePostgres({ settings: skip ? [] : backRest.settings });
  if (!skip) await backRest.createStanza(postgres);
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

/** Runs a program of deploy/ as the account that runs PostgreSQL. */
function runScript(name: string, args: string[], environment: Record<string, string> = {}): Promise<ScriptRun> {
  const env = { PATH: `${postgres.programs}:/usr/bin:/bin`, ...environment };
  return new Promise((done) => {
    execFile(join(deploy, name), args, { ...account, cwd: folder, env, timeout: 60_000 }, (error, stdout, stderr) =>
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

const startServer = (at: TestDatabase, settings: Record<string, string> = {}) =>
  startServerProcess(at, { PENNYBLACK_SEARXNG_URL: upstream.url, ...settings });

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

test("after the loss of the primary every charge is restored, and archiving continues", {
  skip,
}, async () => {
  await backRest.run("check");
  const server = await startServer(db, shared);
  await searchAndPay(server, 3);
  await backRest.run("backup", "--type=full");
  await searchAndPay(server, 2);
  await backRest.run("backup", "--type=incr");
  await searchAndPay(server, 1);
  await stopServer(server);
  await postgres.killPostmaster();
  const remaining = await listUnarchived();
  assert.ok(remaining.length > 0);
  for (const file of remaining) await backRest.run("archive-push", file);
  rmSync(postgres.data, { recursive: true });

  await backRest.run("restore");
  await assert.rejects(backRest.run("restore"), /contains files/, "existing data is not overwritten");
  await postgres.restart();
  await until("it accepts writes", () => acceptsWrites(postgres));
  assert.equal(await spentMicros(db), 60_000n);
  await assertClean(db);
  // The restored cluster is on a later timeline, so servers accept it.
  const next = await startServer(db, shared);
  await searchAndPay(next, 1);
  await stopServer(next);
  await archiveWal();
});

test("a restore drill verifies the latest backup, prints RPO and RTO, and leaves nothing behind", {
  skip,
}, async () => {
  const archived = await newestSegment();
  const to = join(folder, "drill");
  const drill = await runDrill(["--to", to, "--json"]);
  assert.equal(drill.code, 0, drill.stderr);
  const result = JSON.parse(drill.stdout) as DrillResult;
  for (const name of [
    "databaseBytes",
    "backupBytes",
    "rpoSeconds",
    "restoreSeconds",
    "recoverySeconds",
    "verifySeconds",
  ] as const)
    assert.ok(result[name] > 0, `${name} is ${result[name]}`);
  assert.equal(result.rtoSeconds, result.restoreSeconds + result.recoverySeconds + result.verifySeconds);
  assert.equal(result.rpoSeconds * 1_000, Date.parse(result.archiveEndAt) - Date.parse(result.lastCommitAt));
  assert.match(drill.stderr, /restoring .*recovering.*verifying \(full\).*removed/s);
  assert.ok(!existsSync(to));
  assert.equal(await newestSegment(), archived, "the copy does not archive");

  const existing = await runDrill(["--to", dumps]);
  assert.deepEqual([existing.code, existsSync(dumps)], [1, true], existing.stderr);
});

test("a restore drill fails for a ledger that does not reconcile", { skip }, async () => {
  const sql = `set session_replication_role = replica; update pb.wallets set debited_micros = debited_micros + 1 where id = '${wallet.walletId}'`;
  await runSql(db.superuserUrl, sql);
  await archiveWal();
  const to = join(folder, "drill");
  const drill = await runDrill(["--to", to, "--check", "hourly"]);
  assert.equal(drill.code, 1, drill.stdout);
  assert.match(drill.stderr, /does not reconcile/);
  assert.ok(!existsSync(to));
  await runSql(db.superuserUrl, sql.replace("+ 1", "- 1"));
});

test("backups and archiving are reported as metrics, and a failure to archive too", { skip }, async () => {
  await mustRun("pgbackrest/backup-metrics", [folder, "--stanza=pennyblack"], { PGBACKREST_CONFIG: backRest.config });
  const text = readFileSync(join(folder, "pgbackrest.prom"), "utf8");
  const { status, stderr } = spawnSync(findPrometheus("promtool") ?? "promtool", ["check", "metrics"], { input: text });
  assert.equal(status, 0, String(stderr));
  const samples = readSamples(text);
  const valueOf = (name: string, type: string): number =>
    samples.find((each) => each.name === name && each.labels["backup_type"] === type)?.value ?? 0;
  const [full, incr] = ["full", "incr"].map((type) => valueOf("pgbackrest_last_backup_timestamp_seconds", type));
  assert.ok((full ?? 0) > Date.now() / 1_000 - 600 && (incr ?? 0) > (full ?? 0), text);
  assert.ok(
    valueOf("pgbackrest_last_backup_repo_bytes", "incr") < valueOf("pgbackrest_last_backup_repo_bytes", "full"),
  );
  assert.equal(samples.find(({ name }) => name === "pgbackrest_stanza_status")?.value, 0);
  assert.ok((samples.find(({ name }) => name === "pgbackrest_wal_archive_segments")?.value ?? 0) > 1);

  const repository = join(folder, "repository");
  const worker = await startWorkerProcess(db);
  const archivedAt = await worker.metric("pennyblack_wal_archived_timestamp_seconds");
  assert.ok(archivedAt > Date.now() / 1_000 - 600, String(archivedAt));
  const failures = await worker.metric("pennyblack_wal_archive_failures_total");
  chmodSync(repository, 0);
  await switchWal();
  await until("the failure is counted", async () => {
    return (await worker.metric("pennyblack_wal_archive_failures_total")) > failures;
  });
  assert.ok((await worker.metric("pennyblack_wal_archive_failed_timestamp_seconds")) > archivedAt);
  await worker.stop();
  chmodSync(repository, 0o700);
  // The next segment makes PostgreSQL retry immediately.
  await archiveWal();
});

test("a dump is restored in an empty cluster, and searches continue", async () => {
  const settings = { PENNYBLACK_DIRECT_DATABASE_URL: db.ownerUrl };
  const file = await mustRun("backup/dump", [dumps], settings);
  const spent = await spentMicros(db);
  assert.match((await runScript("backup/restore-dump", [file], settings)).stderr, /not empty/);

  const empty = await startPrivatePostgres();
  const moved = await openAt(empty.port);
  try {
    const environment = {
      ...testEnvironment(moved),
      PENNYBLACK_WORKER_DATABASE_URL: moved.workerUrl,
      PENNYBLACK_DIRECT_DATABASE_URL: moved.ownerUrl,
      PENNYBLACK_ADMIN_DATABASE_URL: empty.superuserUrl,
    };
    const made = await spawnAdmin(environment, "database", "roles");
    assert.equal(made.exitCode, 0, made.stderr);
    await mustRun("backup/restore-dump", [file], { PENNYBLACK_DIRECT_DATABASE_URL: moved.ownerUrl });
    assert.equal(await spentMicros(moved), spent);
    await assertClean(moved);
    // Servers refuse another cluster than the one they used, which is that of the test above.
    const refused = skip ? undefined : await failServerProcess({ ...environment, ...shared });
    if (refused) assert.match(refused.output, /is in use.*database accept/);
    const accepted = await spawnAdmin(
      { ...environment, ...shared },
      "database",
      "accept",
      "--reason",
      "restored a dump",
    );
    assert.equal(accepted.exitCode, 0, accepted.stderr);
    const server = await startServer(moved, shared);
    await searchAndPay(server, 3);
    assert.equal(await spentMicros(moved), spent + 30_000n);
    await assertClean(moved);
    await stopServer(server);
  } finally {
    await moved.drop();
    await empty.close();
  }

  appendFileSync(file, "extra bytes");
  assert.match((await runScript("backup/restore-dump", [file], settings)).stderr, /did NOT match/);
});

test("a dropped table is restored to the second before, and searches continue", { skip }, async () => {
  const server = await startServer(db);
  await searchAndPay(server, 2);
  const [transfers, spent] = [await countTransfers(db), await spentMicros(db)];
  const { rows } = await db.owner.query<{ at: string }>("select clock_timestamp()::text as at");
  await searchAndPay(server, 1);
  await stopServer(server);
  await runSql(db.superuserUrl, "drop table pb.transfers cascade");
  await archiveWal();

  const data = join(folder, "restored");
  const target = ["--type=time", `--target=${rows[0]?.at}`, "--target-action=promote"];
  await backRest.run("restore", `--pg1-path=${data}`, ...target);
  const restored = await startPrivatePostgres({ data });
  const moved = await openAt(restored.port);
  try {
    await until("it accepts writes", () => acceptsWrites(restored));
    assert.equal(await countTransfers(moved), transfers);
    assert.equal(await spentMicros(moved), spent, "the search after that moment is not restored");
    await assertClean(moved);
    const next = await startServer(moved);
    await searchAndPay(next, 4);
    assert.equal(await spentMicros(moved), spent + 40_000n);
    await assertClean(moved);
    await stopServer(next);
  } finally {
    await moved.drop();
    await restored.close();
  }
});

function runDrill(args: string[]): Promise<ScriptRun> {
  const script = join(deploy, "pgbackrest/restore-drill.ts");
  const all = [script, "--stanza", stanza, "--config", backRest.config, "--programs", postgres.programs];
  const env = { PATH: "/usr/bin:/bin" };
  const database = new URL(db.ownerUrl).pathname.slice(1);
  return new Promise((done) => {
    execFile(process.execPath, [...all, "--database", database, ...args], { env }, (error, stdout, stderr) =>
      done({ code: error?.code ?? 0, stdout, stderr }),
    );
  });
}

/** Returns the segment that was current. */
async function switchWal(): Promise<string> {
  const sql = "select pg_walfile_name(pg_current_wal_insert_lsn()) as file, pg_switch_wal()";
  const [switched] = await runSql<{ file: string }>(db.superuserUrl, sql);
  return switched?.file ?? "";
}

/** A segment is archived when it is full, or after archive_timeout. */
async function archiveWal(): Promise<void> {
  const file = await switchWal();
  await until("the WAL segment is archived", async () => (await newestSegment()) >= file);
}

/** Segments that only the primary's disk has, up to the one that was modified last; later ones are empty or recycled. */
async function listUnarchived(): Promise<string[]> {
  const [newest, pgWal] = [await newestSegment(), join(postgres.data, "pg_wal")];
  const files = readdirSync(pgWal)
    .filter((name) => /^[0-9A-F]{24}$/.test(name))
    .toSorted();
  const modifiedMs = files.map((name) => statSync(join(pgWal, name)).mtimeMs);
  const last = modifiedMs.indexOf(Math.max(...modifiedMs));
  return files.slice(0, last + 1).flatMap((name) => (name > newest ? [join(pgWal, name)] : []));
}

/** The newest segment in the repository. */
async function newestSegment(): Promise<string> {
  const [info] = JSON.parse(await backRest.run("info", "--output=json")) as { archive: { max: string }[] }[];
  return info?.archive[0]?.max ?? "";
}

async function countTransfers(at: TestDatabase): Promise<bigint> {
  const { rows } = await at.owner.query<{ count: bigint }>("select count(*) from pb.transfers");
  return rows[0]?.count ?? -1n;
}

async function acceptsWrites({ superuserUrl }: PrivatePostgres): Promise<boolean> {
  const [row] = await runSql<{ in_recovery: boolean }>(superuserUrl, "select pg_is_in_recovery() as in_recovery");
  return row?.in_recovery === false;
}
