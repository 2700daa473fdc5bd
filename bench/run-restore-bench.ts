import { randomUUIDv7 } from "node:crypto";
import { join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { DrillResult } from "../deploy/pgbackrest/run-drill.ts";
import { createLedger, ledgerConnections } from "../server/src/wallet/wallet.ts";
import { preparePgBackRest, stanza } from "../server/test/support/services/pgbackrest.ts";
import { describeMachine } from "./describe-machine.ts";
import { driveLedger } from "./drive-ledger.ts";
import { formatNumber, formatTable } from "./format-table.ts";
import { numberedWallet } from "./growth-ids.ts";
import { type Harness, makeFolder } from "./harness.ts";
import type { BenchOptions } from "./read-options.ts";
import { seedGrowth, seedingSettings } from "./seed-growth.ts";
import { connect, type Postgres, startPostgres } from "./start-postgres.ts";

const loops = 100;

/** Backs up a ledger, charges searches for a while, and restores it with `npm run restore-drill` while searches continue. */
export async function runRestoreBench(harness: Harness, options: BenchOptions): Promise<Record<string, number>> {
  console.log(describeMachine(harness.folder));
  const wallets = Math.ceil(options.ledgerRows / 100);
  const rows = wallets * 100;
  let postgres = await startPostgres(harness, seedingSettings);
  await seedGrowth(postgres.adminUrl, { wallets, rows, days: 10 });
  const backRest = preparePgBackRest(makeFolder(join(harness.folder, "pgbackrest")));
  postgres = await postgres.restart(backRest.settings);
  console.log(`Postgres  ${postgres.version} ${postgres.settings}`);
  await backRest.createStanza({
    data: join(harness.folder, "postgres/data"),
    port: Number(new URL(postgres.adminUrl).port),
  });
  // Otherwise pending writes from seeding would be flushed during the measurement.
  await harness.run("sync", []);
  console.error("full backup");
  const fullSeconds = await time(() => backRest.run("backup", "--type=full"));
  const { searches, walBytes } = await charge(postgres, wallets, options.seconds);
  console.error("incremental backup");
  const incrementalSeconds = await time(() => backRest.run("backup", "--type=incr"));
  const afterwards = await charge(postgres, wallets, options.seconds);
  console.log(
    `full backup ${fullSeconds.toFixed(1)} s; ${formatNumber(searches)} searches, ${megabytes(walBytes)} of WAL; incremental backup ` +
      `${incrementalSeconds.toFixed(1)} s; ${formatNumber(afterwards.searches)} searches, ${megabytes(afterwards.walBytes)} of WAL to replay`,
  );
  const drill = await whileCharging(postgres, () => runDrill(harness, backRest.config, postgres.programs));
  console.log(report(drill));
  return {
    rows,
    database_bytes: drill.databaseBytes,
    backup_bytes: drill.backupBytes,
    wal_bytes: afterwards.walBytes,
    rpo_s: drill.rpoSeconds,
    restore_s: drill.restoreSeconds,
    recovery_s: drill.recoverySeconds,
    verify_s: drill.verifySeconds,
    rto_s: drill.rtoSeconds,
  };
}

async function runDrill(harness: Harness, config: string, programs: string): Promise<DrillResult> {
  const script = resolve(import.meta.dirname, "../deploy/pgbackrest/restore-drill.ts");
  const to = join(harness.folder, "restored");
  const args = ["--stanza", stanza, "--to", to, "--config", config, "--programs", programs, "--json"];
  return JSON.parse(await harness.run(process.execPath, [script, ...args])) as DrillResult;
}

/** Charges searches of all wallets at full speed. */
async function charge(
  postgres: Postgres,
  wallets: number,
  seconds: number,
): Promise<{ searches: number; walBytes: number }> {
  const pool = connect(postgres.urls.ledger, ledgerConnections);
  try {
    const ledger = createLedger(pool);
    const pick = () => numberedWallet(Math.floor(Math.random() * wallets));
    const before = await readWalPosition(postgres);
    const { searches } = await driveLedger({ ledger, loops, pick, seconds, postgresPid: postgres.pid });
    return { searches, walBytes: (await readWalPosition(postgres)) - before };
  } finally {
    await pool.end();
  }
}

/** Ten searches per second, so that the RPO is that of a database in use. */
async function whileCharging<Result>(postgres: Postgres, work: () => Promise<Result>): Promise<Result> {
  const pool = connect(postgres.urls.ledger, ledgerConnections);
  const ledger = createLedger(pool);
  const done = new AbortController();
  const charging = (async () => {
    while (!done.signal.aborted) {
      const searchId = randomUUIDv7();
      const { walletId, keyId } = numberedWallet(0);
      await ledger.hold({ searchId, walletId, keyId });
      await ledger.capture({ searchId, walletId });
      await wait(100);
    }
  })();
  try {
    return await Promise.race([work(), charging.then(() => Promise.reject(new Error("charging ended")))]);
  } finally {
    done.abort();
    await charging.catch(() => undefined);
    await pool.end();
  }
}

async function readWalPosition(postgres: Postgres): Promise<number> {
  const admin = connect(postgres.adminUrl, 1);
  try {
    const { rows } = await admin.query<{ bytes: bigint }>(
      "select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint as bytes",
    );
    return Number(rows[0]?.bytes ?? 0n);
  } finally {
    await admin.end();
  }
}

async function time(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return (performance.now() - startMs) / 1_000;
}

function report(drill: DrillResult): string {
  const rows = [
    ["database", megabytes(drill.databaseBytes)],
    ["backup in the repository", megabytes(drill.backupBytes)],
    ["RPO", seconds(drill.rpoSeconds)],
    ["restore", seconds(drill.restoreSeconds)],
    ["recovery", seconds(drill.recoverySeconds)],
    [`verification (${drill.check}, ${formatNumber(drill.compared)} comparisons)`, seconds(drill.verifySeconds)],
    ["RTO", seconds(drill.rtoSeconds)],
  ];
  return `\n${formatTable(["drill", "measured"], rows)}`;
}

function seconds(value: number): string {
  return `${value.toFixed(1)} s`;
}

function megabytes(bytes: number): string {
  return `${formatNumber(Math.round(bytes / 1e6))} MB`;
}
