import assert from "node:assert/strict";
import { createHash, randomUUIDv7 } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gunzipSync } from "node:zlib";
import pg from "pg";
import { until } from "../../../test/support/assertions/until.ts";
import { passWatermarks, waitMs } from "../../../test/support/data/close-due-hours.ts";
import { restartHours } from "../../../test/support/data/restart-hours.ts";
import { type OldDay, seedOldDay } from "../../../test/support/data/seed-old-day.ts";
import { seedWallet } from "../../../test/support/data/seed-wallet.ts";
import { createTestDatabase, type TestDatabase } from "../../../test/support/services/database.ts";
import { readBalanceAt, readEntries } from "../reads/read-wallet.ts";
import { captureBatch, holdBatch } from "../statements.ts";
import { formatReport, reconcile } from "./reconcile.ts";
import { reconcileHours } from "./reconcile-hours.ts";
import { dropOldDays } from "./retention.ts";
import { saveReport } from "./save-report.ts";

let db: TestDatabase;
const days: OldDay[] = [];
const folder = mkdtempSync(join(tmpdir(), "pennyblack-archive-"));
const { signal } = new AbortController();
const old = (): OldDay => days[0] as OldDay;

before(async () => {
  db = await createTestDatabase();
  for (const daysAgo of [60, 59, 50]) days.push(await seedOldDay(db.owner, daysAgo));
});

after(async () => {
  rmSync(folder, { recursive: true });
  await db.drop();
});

async function assertClean(): Promise<void> {
  const full = await reconcile(db.owner);
  assert.ok(full.isClean, formatReport(full));
  const hourly = await reconcileHours(db.owner, { waitMs });
  assert.ok(hourly?.isClean, hourly && formatReport(hourly));
  await saveReport(db.owner, hourly);
}

async function sell(): Promise<void> {
  const { walletId, keyId } = await seedWallet(db.owner, { credit: 10_000n });
  const searchId = randomUUIDv7();
  const [held] = await holdBatch(db.ledger, [{ searchId, walletId, keyId }]);
  const [paid] = await captureBatch(db.ledger, [{ searchId, walletId }]);
  assert.deepEqual([held?.outcome, paid?.state], ["held", "captured"]);
}

async function partitions(): Promise<string[]> {
  const { rows } = await db.owner.query<{ name: string }>(
    "select relname as name from pg_class where relkind = 'r' and relname ~ '^(searches|transfers)_' order by 1",
  );
  return rows.map(({ name }) => name);
}

const nameOf = (table: string, { day }: OldDay): string => `${table}_${day.replaceAll("-", "")}`;

test("drops nothing without a recent clean reconciliation", async () => {
  await assert.rejects(dropOldDays(db.owner, { days: 40, folder }, signal), /no day was dropped/);
  await db.owner.query("insert into pb.reconciliations values (clock_timestamp(), 1, '[]')");
  await assert.rejects(dropOldDays(db.owner, { days: 40, folder }, signal), /no day was dropped/);
  assert.deepEqual(readdirSync(folder), []);
});

test("refuses to close a day that is too young, has unsettled rows or is not fully archived", async () => {
  const close = (day: string, searches: number, transfers: number) =>
    db.owner.query("select pb.close_day($1, $2, $3, '', '')", [day, searches, transfers]);
  const today = new Date().toISOString().slice(0, 10);
  await assert.rejects(close(today, 0, 0), /younger than 35 days/);
  await assert.rejects(close(days[1]?.day ?? "", 5, 6), /an older day is open/);
  await assert.rejects(close(old().day, 4, 6), /the archive is not whole/);
  await assert.rejects(close(old().day, 5, 7), /the archive is not whole/);
  await db.owner.query("update pb.searches set state = 'pending', settled_at = null where wallet_id = $1", [
    old().walletId,
  ]);
  await assert.rejects(close(old().day, 5, 6), /is pending/);
  await db.owner.query("update pb.searches set state = 'captured', settled_at = held_at where wallet_id = $1", [
    old().walletId,
  ]);
  await db.owner.query("update pb.usage_watermark set counted_before = counted_before - interval '90 days'");
  await assert.rejects(close(old().day, 5, 6), /usage is not counted/);
  await db.owner.query("update pb.usage_watermark set counted_before = counted_before + interval '90 days'");
  await assert.rejects(close(old().day, 5, 6), /hours are not closed/);
});

test("archives and drops old days while searches run, and the ledger still reconciles", async () => {
  await sell();
  await passWatermarks(db.owner);
  await assertClean();
  // A long-running reader: the detach waits for it, and no search waits for the detach.
  const reader = new pg.Client({ connectionString: db.ownerUrl });
  await reader.connect();
  await reader.query("begin");
  await reader.query("select count(*) from pb.searches, pb.transfers");
  const first = assert.rejects(dropOldDays(db.owner, { days: 40, folder }, signal), { code: "55P03" });
  await until("three days are closed", async () => {
    const { rows } = await db.owner.query("select from pb.closed_days");
    return rows.length === 3;
  });
  await sell();
  await assertClean();
  await first;
  // The rows of the closed days still exist.
  await restartHours(db.owner);
  await assertClean();
  await reader.query("commit");
  await reader.end();

  // The next run, or the first one after a worker was killed.
  await assertClean();
  assert.deepEqual(await dropOldDays(db.owner, { days: 40, folder }, signal), []);
  const left = await partitions();
  for (const day of days)
    for (const table of ["searches", "transfers"]) assert.ok(!left.includes(nameOf(table, day)), nameOf(table, day));
  await sell();
  await assertClean();
});

test("the archive has every dropped row, and its checksums match the files and the database", async () => {
  for (const { day, walletId } of days) {
    for (const [table, count] of [
      ["searches", 5],
      ["transfers", 6],
    ] as const) {
      const bytes = readFileSync(join(folder, `${table}-${day}.csv.gz`));
      const sum = createHash("sha256").update(bytes).digest("hex");
      assert.equal(
        readFileSync(join(folder, `${table}-${day}.csv.gz.sha256`), "utf8"),
        `${sum}  ${table}-${day}.csv.gz\n`,
      );
      const stored = await db.owner.query(
        `select ${table}::int as rows, ${table}_sum as sum from pb.closed_days where day = $1`,
        [day],
      );
      assert.deepEqual(stored.rows, [{ rows: count, sum }]);
      const [header = "", ...rows] = gunzipSync(bytes).toString().trimEnd().split("\r\n");
      assert.ok(header.split(",").includes("wallet_id"));
      assert.equal(rows.length, count);
      for (const row of rows) assert.ok(row.includes(walletId));
    }
  }
  assert.deepEqual(
    readdirSync(folder).filter((file) => file.endsWith(".part")),
    [],
  );
});

test("balances are the same after old days are dropped", async () => {
  const { walletId, day } = old();
  assert.equal(await readBalanceAt(db.tenant, walletId, new Date(Date.now() - 40 * 86_400_000)), 950_000n);
  assert.equal(await readBalanceAt(db.tenant, walletId, new Date(`${day}T00:00:00Z`)), 950_000n, "opening balance");
  const entries = await readEntries(db.tenant, walletId, { limit: 10 });
  assert.deepEqual(
    entries.map(({ kind }) => kind),
    ["refund"],
  );
  const hours = await db.owner.query("select from pb.usage_hours where wallet_id = $1", [walletId]);
  const usage = await db.owner.query("select from pb.usage_days where wallet_id = $1", [walletId]);
  assert.deepEqual([hours.rowCount, usage.rowCount], [0, 1]);
});

test("hours that begin after days were archived start with their sums", async () => {
  const { walletId } = old();
  await restartHours(db.owner);
  await assertClean();
  const checkpoint = "select hour, entries, credited_micros, debited_micros, owed_micros from pb.wallet_checkpoints";
  const { rows } = await db.owner.query(`${checkpoint} where wallet_id = $1`, [walletId]);
  assert.deepEqual(rows, [
    { hour: null, entries: 6n, credited_micros: 1_000_000n, debited_micros: 50_000n, owed_micros: 0n },
  ]);
  const { rows: start } = await db.owner.query(
    `select opening_micros, (select min(hour) from pb.ledger_hours) > now() - interval '27 hours' as is_recent
     from pb.ledger_watermark`,
  );
  assert.deepEqual(start, [{ opening_micros: 3n * 950_000n, is_recent: true }], "archived hours are not closed again");
  await sell();
  await assertClean();
});
