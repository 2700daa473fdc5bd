import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import pg from "pg";
import { closeDueHours, passWatermarks, waitMs } from "../../../test/support/data/close-due-hours.ts";
import { seedOldDay } from "../../../test/support/data/seed-old-day.ts";
import { seedWallet } from "../../../test/support/data/seed-wallet.ts";
import { createTestDatabase, type TestDatabase } from "../../../test/support/services/database.ts";
import { topUpBatch } from "../statements.ts";
import { closeHours } from "./close-hours.ts";

const hourMs = 3_600_000;
let db: TestDatabase;
let walletId: string;

before(async () => {
  db = await createTestDatabase();
  ({ walletId } = await seedOldDay(db.owner, 3));
  // Two searches an hour later, and three on the next day.
  await repeatSearches(1, 2);
  await repeatSearches(24, 3);
});

/** Copies some of the wallet's first searches, with their charges and usage, to a later hour. */
async function repeatSearches(hours: number, count: number): Promise<void> {
  const later = (column: string): string => `${column} + interval '${hours} hours'`;
  await db.owner.query(`
    create temporary table first on commit drop as
      select * from pb.searches where wallet_id = '${walletId}' order by held_at, id limit ${count};
    update first set held_at = ${later("held_at")}, expires_at = ${later("expires_at")}, settled_at = ${later("settled_at")};
    update first set id = overlay(id::text placing left(pb.uuid_floor(held_at)::text, 13) from 1)::uuid;
    insert into pb.searches select * from first;
    insert into pb.transfers (id, wallet_id, search_id, kind, from_account, to_account, amount_micros, created_at)
      select id, wallet_id, id, 'capture', 'wallet', 'revenue', price_micros, settled_at from first;
    insert into pb.usage_hours
      select wallet_id, held_at, key_id, mode, '', 'ok', true, count(*), sum(price_micros) from first group by 1, 2, 3, 4`);
}

after(() => db.drop());

const later = (hours: number): Date => new Date(Date.now() + hours * hourMs);

async function readTime(sql: string): Promise<Date> {
  const { rows } = await db.owner.query<{ at: Date }>(`select ${sql} as at from pb.ledger_watermark`);
  return rows[0]?.at as Date;
}

/** The digest of one hour, computed from its definition. */
async function digestOf(wallet: string, hour: Date, previous: Buffer): Promise<{ digest: Buffer; entries: number }> {
  const { rows } = await db.owner.query<{ line: string }>(
    `select id || ' ' || wallet_id || ' ' || kind || ' ' || from_account || ' ' || to_account || ' ' || amount_micros || ' '
       || to_char(created_at at time zone 'utc', 'YYYY-MM-DD') || 'T' || to_char(created_at at time zone 'utc', 'HH24:MI:SS.US')
       || 'Z ' || coalesce(search_id::text, '-') as line
     from pb.transfers where wallet_id = $1 and created_at >= $2 and created_at < $2::timestamptz + interval '1 hour'
     order by created_at, id`,
    [wallet, hour],
  );
  const header = `${hour.toISOString().replace(".000", "")} ${rows.length}\n`;
  const text = header + rows.map(({ line }) => `${line}\n`).join("");
  return { digest: createHash("sha256").update(previous).update(text).digest(), entries: rows.length };
}

interface WalletHour {
  hour: Date;
  entries: bigint;
  credited_micros: bigint;
  debited_micros: bigint;
  owed_micros: bigint;
  digest: Buffer;
}

async function readHours(wallet: string): Promise<WalletHour[]> {
  const { rows } = await db.owner.query<WalletHour>(
    `select hour, entries, credited_micros, debited_micros, owed_micros, digest from pb.wallet_hours
     where wallet_id = $1 order by hour`,
    [wallet],
  );
  return rows;
}

test("an hour waits for the watermarks of the sweeper and of usage", async () => {
  await db.owner.query("update pb.sweep_watermark set settled_before = '2001-01-01'");
  await db.owner.query("update pb.usage_watermark set counted_before = '2001-01-01'");
  assert.equal((await closeHours(db.owner, { waitMs })).state, "sweep");
  await assert.rejects(db.owner.query("select pb.close_hour(closed_before) from pb.ledger_watermark"), {
    code: "55000",
  });
  await db.owner.query("update pb.sweep_watermark set settled_before = clock_timestamp()");
  assert.equal((await closeHours(db.owner, { waitMs })).state, "usage");
  await db.owner.query("update pb.usage_watermark set counted_before = clock_timestamp() - interval '1 day'");
});

test("the sum of a window is that of all closed hours, and that of a replaced window is deleted the next day", async () => {
  const { rows: seeded } = await db.owner.query<{ id: bigint; noon: Date }>(
    `select w.id, min(s.held_at) as noon from pb.searches s join pb.budget_windows w on w.id = any (s.window_ids)
     where s.wallet_id = $1 and w.resets_at is null group by 1`,
    [walletId],
  );
  const noon = seeded[0]?.noon.getTime() ?? 0;
  const sums = async (closedBefore: number) => {
    await passWatermarks(db.owner, new Date(closedBefore));
    assert.equal((await closeHours(db.owner, { waitMs })).state, "sweep");
    assert.deepEqual(await readTime("closed_before"), new Date(closedBefore));
    const { rows } = await db.owner.query<{ id: bigint; micros: bigint }>(
      "select window_id as id, micros from pb.window_checkpoints order by window_id",
    );
    return rows.map(({ id, micros }) => `${id === seeded[0]?.id ? "total" : "day"} ${micros}`);
  };
  assert.deepEqual(await sums(noon), []);
  assert.deepEqual((await sums(noon + hourMs)).toSorted(), ["day 50000", "total 50000"]);
  await db.owner.query(
    "update pb.budget_windows set id = nextval('pb.budget_windows_id_seq') where resets_at is not null",
  );
  assert.deepEqual((await sums(noon + 2 * hourMs)).toSorted(), ["day 70000", "total 70000"]);
  assert.deepEqual(await sums(noon + 25 * hourMs), ["total 100000"]);
});

test("closed hours chain a digest per wallet, and their sums are the checkpoint", async () => {
  await passWatermarks(db.owner);
  await closeDueHours(db.owner);
  assert.deepEqual(await closeDueHours(db.owner), [], "each hour is closed once");
  const hours = await db.owner.query<{ missing: bigint }>(
    `select (extract(epoch from w.closed_before - min(h.hour)) / 3600)::bigint - count(*) as missing
     from pb.ledger_watermark w, pb.ledger_hours h group by w.closed_before`,
  );
  assert.deepEqual(hours.rows, [{ missing: 0n }], "hours without entries are closed too");

  // The refund of one of its searches is in the current hour.
  await passWatermarks(db.owner, later(2));
  await closeDueHours(db.owner, later(2));
  let previous: Buffer = Buffer.alloc(32);
  const ofWallet = await readHours(walletId);
  assert.equal(ofWallet.length, 4);
  for (const { hour, entries, digest } of ofWallet) {
    const expected = await digestOf(walletId, hour, previous);
    assert.deepEqual({ entries: Number(entries), digest }, expected);
    previous = expected.digest;
  }
  const { rows } = await db.owner.query("select * from pb.wallet_checkpoints where wallet_id = $1", [walletId]);
  assert.deepEqual(rows, [
    {
      wallet_id: walletId,
      hour: ofWallet[3]?.hour,
      entries: 12n,
      credited_micros: 1_010_000n,
      debited_micros: 100_000n,
      owed_micros: 0n,
      digest: previous,
    },
  ]);
});

test("a new entry is never stamped with a time in a closed hour, although the clock was set back", async () => {
  const closedBefore = await readTime("closed_before");
  assert.ok(closedBefore.getTime() > Date.now(), "the previous test closed the current hour");
  const seed = await seedWallet(db.owner, { credit: 1_000n });
  const { rows } = await db.owner.query<{ created_at: Date }>(
    "select created_at from pb.transfers where wallet_id = $1",
    [seed.walletId],
  );
  assert.deepEqual(rows, [{ created_at: closedBefore }]);
});

test("an hour is closed after transactions that began before its announcement, no matter how long their commit hangs", async () => {
  const start = await readTime("closed_before");
  const now = new Date(start.getTime() + hourMs + 16 * 60_000);
  await passWatermarks(db.owner, now);
  const seed = await seedWallet(db.owner);
  const client = new pg.Client({ connectionString: db.ownerUrl });
  await client.connect();
  // Stamped with a time in the hour that is about to be closed, and not yet committed.
  await client.query("begin");
  await topUpBatch(client, "top_up", [{ paymentId: "hangs", walletId: seed.walletId, amount: 1_000n }]);
  try {
    for (const minutes of [0, 10]) {
      const { closed, state } = await closeHours(db.owner, {
        now: new Date(now.getTime() + minutes * 60_000),
        waitMs: 0,
      });
      assert.deepEqual({ closed, state }, { closed: [], state: "transactions" }, `${minutes} minutes later`);
    }
    // Entries that begin after the announcement are in the next hour.
    await topUpBatch(db.owner, "top_up", [{ paymentId: "later", walletId, amount: 1_000n }]);
  } finally {
    await client.query("commit");
    await client.end();
  }
  const [hour] = await closeDueHours(db.owner, now);
  assert.equal(hour?.hour, start.toISOString());
  assert.equal((await readHours(seed.walletId)).length, 1, "the entry that committed late is included");
  const { rows } = await db.owner.query<{ at: Date }>(
    "select t.created_at as at from pb.transfers t join pb.payments p on p.transfer_id = t.id where p.payment_id = 'later'",
  );
  assert.deepEqual(rows, [{ at: new Date(start.getTime() + hourMs) }]);
});

test("an hour is not announced until 15 minutes after its end", async () => {
  const start = await readTime("closed_before");
  const end = start.getTime() + hourMs;
  await passWatermarks(db.owner, new Date(end + hourMs));
  assert.deepEqual(await closeDueHours(db.owner, new Date(end + 15 * 60_000 - 1)), []);
  assert.equal((await closeDueHours(db.owner, new Date(end + 15 * 60_000))).length, 1);
  // Set back by five minutes at a failover, the clock still shows a time in an open hour.
  const { closed, state } = await closeHours(db.owner, { now: new Date(end + 10 * 60_000) });
  assert.deepEqual({ closed, state }, { closed: [], state: "open" });
  assert.deepEqual(await readTime("closed_before"), new Date(end));
});

test("an hour waits for a transaction that began while its announcement was being committed", async () => {
  const start = await readTime("closed_before");
  const now = new Date(start.getTime() + hourMs + 16 * 60_000);
  await passWatermarks(db.owner, now);
  const seed = await seedWallet(db.owner);
  const [announcing, hanging] = [1, 2].map(() => new pg.Client({ connectionString: db.ownerUrl }));
  assert.ok(announcing && hanging);
  await Promise.all([announcing.connect(), hanging.connect()]);
  await announcing.query("begin");
  const { rows } = await announcing.query("select state from pb.prepare_hour($1)", [now]);
  assert.deepEqual(rows, [{ state: "announced" }]);
  // Its id is later than that of the announcement, which it does not see.
  await hanging.query("begin");
  await topUpBatch(hanging, "top_up", [{ paymentId: "overlaps", walletId: seed.walletId, amount: 1_000n }]);
  await announcing.query("commit");
  await announcing.end();
  try {
    const { closed, state } = await closeHours(db.owner, { now, waitMs: 0 });
    assert.deepEqual({ closed, state }, { closed: [], state: "transactions" });
  } finally {
    await hanging.query("commit");
    await hanging.end();
  }
  await closeDueHours(db.owner, now);
  const included = await readHours(seed.walletId);
  assert.deepEqual(
    included.map(({ hour }) => hour),
    [start],
  );
});

test("a second run returns immediately", async () => {
  const client = new pg.Client({ connectionString: db.ownerUrl });
  await client.connect();
  await client.query("begin; select from pb.ledger_watermark for update");
  assert.deepEqual(await closeHours(db.owner), { closed: [], state: "busy", checks: [] });
  await client.query("rollback");
  await client.end();
});

test("every function that writes ledger entries, except a capture, takes their time from pb.entry_time", async () => {
  const { rows } = await db.owner.query<{ name: string; stamps: boolean }>(
    `select proname as name, prosrc ~ 'pb\\.entry_time\\(\\)' as stamps from pg_proc
     where pronamespace = 'pb'::regnamespace and prosrc ~ 'insert into pb\\.transfers' and proname !~ '^capture_(one|each)$' order by 1`,
  );
  assert.ok(rows.length >= 4);
  assert.deepEqual(
    rows.filter(({ stamps }) => !stamps),
    [],
  );
});
