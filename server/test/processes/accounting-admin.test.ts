import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { type AdminRun, runAdmin } from "../support/services/admin-process.ts";
import { createTestDatabase, type TestDatabase } from "../support/services/database.ts";

let db: TestDatabase;
let environment: Record<string, string>;

before(async () => {
  db = await createTestDatabase();
  environment = {
    PENNYBLACK_DIRECT_DATABASE_URL: db.ownerUrl,
    PENNYBLACK_KEY_PEPPERS: `1:${randomBytes(32).toString("base64")}`,
  };
});
after(() => db.drop());

const month = new Date().toISOString().slice(0, 7);

function admin(...args: string[]): Promise<AdminRun> {
  return runAdmin(environment, ...args);
}

async function succeed(...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await admin(...args);
  assert.equal(exitCode, 0, stderr);
  return stdout;
}

async function createWallet(balance: string): Promise<string> {
  const created = await succeed("wallet", "create", "--name", "acme", "--balance", balance, "--json", "--by", "cleo");
  const { walletId, requestedCredit } = JSON.parse(created);
  if (requestedCredit) await succeed("adjust", "approve", "--adjustment", requestedCredit, "--by", "bob");
  return walletId;
}

test("a mistyped credit is found by its entry and corrected", async () => {
  const walletId = await createWallet("50.00");
  const shown = await succeed("wallet", "show", "--wallet", walletId);
  const [, entryId = ""] = /credit +50\.00 +(\S+)/.exec(shown) ?? assert.fail(shown);
  const correct = ["adjust", "request", "--kind", "correction", "--reference", entryId, "--reason", "typo"];
  assert.match(await succeed(...correct), /^Booked 50\.00 USD \(correction\)\./);
  assert.match(await succeed(...correct), /already booked\. Nothing changed/);
  assert.match(await succeed("wallet", "show", "--wallet", walletId), /balance +0\.00 USD[^]*correction +-50\.00/);
});

test("a large payout waits for another operator", async () => {
  const walletId = await createWallet("500.00");
  const options = ["--wallet", walletId, "--amount", "400.00", "--reference", "wire 7", "--reason", "closed"];
  const requested = await succeed("adjust", "request", "--kind", "payout", ...options, "--by", "ada");
  const [, id = ""] =
    /A second operator must approve it: .* --adjustment (\S+)/.exec(requested) ?? assert.fail(requested);
  assert.match(await succeed("adjust", "list"), /payout +wire 7 .* 400\.00 +ada/);
  const own = await admin("adjust", "approve", "--adjustment", id, "--by", "ada");
  assert.deepEqual([own.exitCode, own.stderr.includes("Another operator must approve it.")], [1, true]);
  assert.match(await succeed("adjust", "approve", "--adjustment", id, "--by", "bob"), /^Approved and booked\./);
  assert.match(await succeed("adjust", "list"), /No adjustment is waiting for approval/);
  assert.match(await succeed("wallet", "show", "--wallet", walletId), /balance +100\.00 USD/);
});

test("wrong options are usage errors", async () => {
  const walletId = await createWallet("1.00");
  for (const args of [
    ["adjust", "request", "--kind", "gift", "--reference", "1", "--reason", "none"],
    ["adjust", "request", "--kind", "payout", "--reference", "1", "--reason", "none", "--wallet", walletId],
    ["adjust", "request", "--kind", "correction", "--reference", "1", "--reason", "none"],
    ["adjust", "request", "--kind", "correction", "--reference", walletId, "--reason", "none", "--amount", "1.00"],
    ["month", "close", "--month", "2026-13"],
    ["month", "journal", "--month", month, "--format", "xml"],
  ])
    assert.equal((await admin(...args)).exitCode, 2, args.join(" "));
});

test("the trial balance and the journal of a month are printed, and an unfinished month is not closed", async () => {
  const printed = await succeed("month", "trial-balance", "--month", month);
  assert.match(printed, /2000 +wallet +liability +450\.00 +551\.00 +-101\.00/);
  const [, debits, credits] = /Total +([\d.]+) +([\d.]+)/.exec(printed) ?? assert.fail(printed);
  assert.equal(debits, credits);
  const { accounts } = JSON.parse(await succeed("month", "trial-balance", "--month", month, "--json"));
  assert.equal(accounts.length, 9);
  const hledger = await succeed("month", "journal", "--month", month, "--format", "hledger");
  assert.match(hledger, /\* payout {2}; id:\S+, wallet:\S+, reference:wire 7\n {4}liabilities:wallet {2}400\.00 USD\n/);
  const csv = await succeed("month", "journal", "--month", month, "--format", "csv");
  assert.match(csv, /,payout,wallet,cash,400\.00,usd,1,/);
  const { exitCode, stderr } = await admin("month", "close", "--month", month);
  assert.deepEqual([exitCode, stderr.includes("one hour after its end")], [1, true]);
});
