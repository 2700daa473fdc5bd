import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { randomUUIDv7 } from "node:crypto";
import { after, before, test } from "node:test";
import { type Micros, parseUsd, priceMicros } from "../../src/lib/money.ts";
import { requestAdjustment } from "../../src/wallet/accounting/adjustments.ts";
import { bookTransfer } from "../../src/wallet/accounting/cell-transfers.ts";
import { hledgerName, writeJournal } from "../../src/wallet/accounting/journal.ts";
import { readTrialBalance } from "../../src/wallet/accounting/months.ts";
import { captureBatch, holdBatch, refundBatch, topUpBatch } from "../../src/wallet/statements.ts";
import { seedOldDay } from "../support/data/seed-old-day.ts";
import { seedWallet } from "../support/data/seed-wallet.ts";
import { uuidOf } from "../support/data/uuid-of.ts";
import { seedCorrections } from "../support/payments/seed-corrections.ts";
import { seedPayments } from "../support/payments/seed-payments.ts";
import { createTestDatabase, type TestDatabase } from "../support/services/database.ts";

// Imports the journal into Debian's hledger and compares its balances with the trial balance.

const hasHledger = spawnSync("hledger", ["--version"]).status === 0;
// Not skipped in CI, where the package must be installed.
const skip = !hasHledger && process.env["CI"] !== "true" ? "hledger is not installed" : false;

const month = new Date().toISOString().slice(0, 7);
let database: TestDatabase;
let oldMonth: string;

before(async () => {
  database = await createTestDatabase();
  const { owner } = database;
  oldMonth = (await seedOldDay(owner, 60)).day.slice(0, 7);
  await seedEveryKind();
});
after(() => database.drop());

/** At least one transfer of every kind, with amounts down to a micro-dollar. */
async function seedEveryKind(): Promise<void> {
  const { owner, ledger } = database;
  const debtor = await seedWallet(owner, { credit: priceMicros });
  await seedPayments(owner, debtor.walletId);
  const seed = await seedWallet(owner, { credit: 7_654_321n });
  const { walletId } = seed;
  await topUpBatch(owner, "credit", [{ paymentId: 'odd "reference", with\nlines; and = signs', walletId, amount: 3n }]);
  const searches = Array.from({ length: 20 }, () => ({ searchId: randomUUIDv7(), ...seed, reason: "a test" }));
  await holdBatch(ledger, searches);
  await captureBatch(ledger, searches);
  await refundBatch(owner, searches.slice(0, 2));
  const { rows } = await owner.query<{ id: string }>(
    "select id from pb.transfers where wallet_id = $1 and kind = 'credit'",
    [walletId],
  );
  const act = { operator: "ada", reason: "a test" };
  for (const adjustment of [
    { kind: "payout", reference: "wire", walletId, amount: 1_000_001n },
    { kind: "breakage", reference: "dormant", walletId, amount: 100n },
    { kind: "fee", reference: `seed ${walletId}`, amount: 522_000n },
    { kind: "write_off", reference: "case 1", walletId: debtor.walletId, amount: 1n },
    { kind: "correction", reference: rows[0]?.id ?? "" },
  ] as const)
    assert.equal((await requestAdjustment(owner, { ...act, ...adjustment })).outcome, "booked", adjustment.kind);
  await owner.query("insert into pb.cell (name) values ('us1')");
  for (const kind of ["transfer_out", "transfer_in"] as const) {
    const [source, target] = kind === "transfer_out" ? ["us1", "us2"] : ["us2", "us1"];
    const wallets = { sourceWallet: walletId, targetWallet: walletId };
    const transfer = { ...act, kind, source, target, ...wallets, reference: "move", amount: 1n, hasDocument: true };
    assert.equal((await bookTransfer(owner, transfer)).outcome, "booked", kind);
  }
  await seedCorrections(owner);
}

async function readJournal(of: string, format: "csv" | "hledger"): Promise<string> {
  let text = "";
  for await (const part of writeJournal(database.owner, of, format)) text += part;
  return text;
}

test("every kind of transfer is in the tests", async () => {
  const { rows } = await database.owner.query(
    "select unnest(enum_range(null::pb.transfer_kind)) as kind except select kind from pb.transfers",
  );
  assert.deepEqual(rows, []);
});

test("hledger's balances equal the trial balance to the micro-dollar", { skip }, async () => {
  for (const period of [oldMonth, month]) {
    const journal = await readJournal(period, "hledger");
    execFileSync("hledger", ["-f", "-", "check", "accounts", "commodities"], { input: journal });
    const output = execFileSync("hledger", ["-f", "-", "balance", "--flat", "--no-total", "-O", "csv"], {
      input: journal,
      encoding: "utf8",
    });
    const actual = [...output.matchAll(/^"(\w+:\w+)","(-?)([\d.]+) USD"$/gm)].map(
      ([, account = "", sign, amount = ""]): [string, Micros] => [
        account,
        (sign === "-" ? -1n : 1n) * (parseUsd(amount) ?? assert.fail(amount)),
      ],
    );
    const { accounts } = await readTrialBalance(database.owner, period);
    const expected = accounts
      .filter(({ debit, credit }) => debit !== credit)
      .map((each): [string, Micros] => [hledgerName(each), each.debit - each.credit]);
    assert.deepEqual(new Map(actual), new Map(expected));
    assert.ok(expected.length >= 3);
  }
});

test("the journal as CSV has every transfer of the month, at any time of day", async () => {
  const { owner } = database;
  const { walletId } = await seedWallet(owner);
  // The first and last millisecond of the month of the old day.
  const first = new Date(`${oldMonth}-01T00:00:00Z`);
  const last = new Date(first);
  last.setUTCMonth(first.getUTCMonth() + 1, 0);
  last.setUTCHours(23, 59, 59, 999);
  for (const at of [new Date(first.getTime() - 1), first, last, new Date(last.getTime() + 1)]) {
    await owner.query("select pb.make_partitions($1::date, $1::date)", [at.toISOString().slice(0, 10)]);
    await owner.query(
      `insert into pb.transfers (id, wallet_id, kind, from_account, to_account, amount_micros, created_at)
       values ($1, $2, 'top_up', 'cash', 'wallet', 1, $3)`,
      [uuidOf(at.getTime()), walletId, at],
    );
  }
  const lines = (await readJournal(oldMonth, "csv")).split("\r\n");
  const own = lines.filter((line) => line.includes(walletId));
  assert.deepEqual(
    own.map((line) => line.slice(0, 10)),
    [first, last].map((at) => at.toISOString().slice(0, 10)),
  );
  const captures = lines.filter((line) => line.includes(",capture,"));
  assert.deepEqual(captures, [captures[0]]);
  assert.match(captures[0] ?? "", /^[\d-]{10},capture,wallet,revenue,0\.05,usd,5,,,$/);
});
