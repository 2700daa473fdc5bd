import assert from "node:assert/strict";
import { randomBytes, randomUUIDv7 } from "node:crypto";
import { after, before, test } from "node:test";
import { createKeys } from "../../src/keys/keys.ts";
import { captureBatch, holdBatch } from "../../src/wallet/statements.ts";
import { type AdminRun, runAdmin, spawnAdmin } from "../support/services/admin-process.ts";
import { createTestDatabase, type TestDatabase } from "../support/services/database.ts";

const pepper = { version: 1, bytes: randomBytes(32) };
let db: TestDatabase;
let environment: Record<string, string>;

before(async () => {
  db = await createTestDatabase();
  environment = {
    PENNYBLACK_DIRECT_DATABASE_URL: db.ownerUrl,
    PENNYBLACK_KEY_PEPPERS: `1:${pepper.bytes.toString("base64")}`,
  };
});

after(() => db.drop());

async function admin(...args: string[]): Promise<AdminRun> {
  return runAdmin(environment, ...args);
}

async function succeed(...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await admin(...args);
  assert.equal(exitCode, 0, stderr);
  return stdout;
}

async function createWallet(balance: string): Promise<{ walletId: string; liveKey: string; managementKey: string }> {
  return JSON.parse(await succeed("wallet", "create", "--name", "acme", "--balance", balance, "--json"));
}

/** Pays for one search with a key. Returns its Request-Id. */
async function search(walletId: string, key: string): Promise<{ outcome: string; searchId: string }> {
  const { keyId } = await createKeys(db.ledger, [pepper]).authenticate(key, "192.0.2.1", "search");
  const searchId = randomUUIDv7();
  const [held] = await holdBatch(db.ledger, [{ searchId, walletId, keyId }]);
  if (held?.outcome === "held") await captureBatch(db.ledger, [{ searchId, walletId }]);
  return { outcome: held?.outcome ?? "", searchId };
}

test("a new wallet is printed as one JSON line, its keys work, and its balance is a credit in the ledger", async () => {
  const account = await createWallet("0.05");
  assert.deepEqual(Object.keys(account), ["walletId", "liveKey", "managementKey"]);
  assert.equal((await search(account.walletId, account.liveKey)).outcome, "held");
  const management = await createKeys(db.ledger, [pepper]).authenticate(
    account.managementKey,
    "192.0.2.1",
    "wallet:read",
  );
  assert.equal(management.walletId, account.walletId);
  const shown = await succeed("wallet", "show", "--wallet", account.walletId);
  assert.match(shown, /balance +0\.04 USD/);
  assert.match(shown, /capture +-0\.01/);
  assert.match(shown, /credit +0\.05/);
  assert.match(await succeed("reconcile"), /Clean at/);
});

test("a wallet without a balance has no entry, and the keys are printed on separate lines", async () => {
  const output = await succeed("wallet", "create", "--name", "empty");
  assert.match(output, /with a balance of 0\.00 USD/);
  for (const mode of ["live", "mgmt"]) assert.match(output, new RegExp(`pb_${mode}_[0-9A-Za-z]{36}$`, "m"));
});

test("a payment is booked once, and the same payment with a different amount is rejected", async () => {
  const { walletId } = await createWallet("0");
  const topUp = ["wallet", "top-up", "--wallet", walletId, "--payment", `pay-${walletId}`, "--json"];
  const first = JSON.parse(await succeed(...topUp, "--amount", "5.00"));
  assert.deepEqual(first, { walletId, paymentId: `pay-${walletId}`, outcome: "credited", balance: "5.00" });
  assert.equal(JSON.parse(await succeed(...topUp, "--amount", "5.00")).outcome, "repeated");
  const other = await admin(...topUp, "--amount", "6.00");
  assert.equal(other.exitCode, 1);
  assert.match(other.stderr, /already booked with a different wallet or amount/);
  assert.match(await succeed("wallet", "show", "--wallet", walletId), /balance +5\.00 USD/);
});

test("an invoice or a promotion is booked once per reference, with its reason and operator", async () => {
  const { walletId } = await createWallet("0");
  const reference = `INV-${walletId}`;
  const book = ["credit", "--wallet", walletId, "--reason", "paid by wire", "--reference", reference, "--by", "alice"];
  const invoice = [...book, "--amount", "5.00", "--kind", "invoice"];
  assert.match(await succeed(...invoice), /Booked 5\.00 USD .* by alice.* balance is 5\.00 USD/);
  assert.match(await succeed(...invoice), /already booked\. Nothing changed.* balance is 5\.00 USD/);
  for (const other of [
    [...book, "--amount", "6.00", "--kind", "invoice"],
    [...book, "--amount", "5.00", "--kind", "promotion"],
  ])
    assert.match((await admin(...other)).stderr, /already booked with a different wallet, amount or kind/);
  assert.equal((await admin(...book, "--amount", "5.00", "--kind", "gift")).exitCode, 2);
  assert.match(await succeed("payments", "show", "--payment", `manual:${reference}`), /manual[^]*paid[^]*5\.00 USD/);
  assert.equal((await admin("payments", "show", "--payment", "manual:nothing")).exitCode, 1);
  const gift = ["--amount", "1.00", "--kind", "promotion", "--reason", "sorry", "--reference", `GIFT-${walletId}`];
  await succeed("credit", "--wallet", walletId, ...gift);
  assert.match(await succeed("wallet", "show", "--wallet", walletId), /credit +1\.00[^]*top_up +5\.00/);
  assert.match(await succeed("reconcile"), /Clean at/);
});

test("a credit above the limit waits for another operator, regardless of the command that books it", async () => {
  const created = await succeed("wallet", "create", "--name", "large", "--balance", "100.01", "--by", "ada");
  assert.match(created, /with a balance of 0\.00 USD/);
  const { walletId } = await createWallet("0");
  const wallet = ["--wallet", walletId, "--amount", "1000000.00", "--by", "ada"];
  const invoice = ["credit", ...wallet, "--kind", "invoice", "--reason", "wire", "--reference", `INV-${walletId}`];
  const payment = ["wallet", "top-up", ...wallet, "--payment", `pi_${walletId}`];
  for (const output of [created, await succeed(...invoice), await succeed(...payment)]) {
    const [, id = ""] = /Requested .* adjust approve --adjustment (\S+)/.exec(output) ?? assert.fail(output);
    const own = await admin("adjust", "approve", "--adjustment", id, "--by", "ada");
    assert.match(own.stderr, /Another operator must approve it/);
    assert.match(await succeed("adjust", "approve", "--adjustment", id, "--by", "bob"), /Approved and booked/);
  }
  assert.match(await succeed("wallet", "show", "--wallet", walletId), /balance +2000000\.00 USD/);
  assert.match(await succeed("reconcile"), /Clean at/);
});

test("a payment notice is listed until an operator closes it", async () => {
  assert.match(await succeed("payments", "list"), /No open notices/);
  await db.owner.query("select pb.open_payment_notice('wrong_amount', 'pi_1', null, 10000)");
  const listed = await succeed("payments", "list");
  const [, notice = ""] = /^ *([0-9a-f-]{36}) .*wrong_amount +pi_1 .*0\.01/m.exec(listed) ?? assert.fail(listed);
  await succeed("payments", "close", "--notice", notice);
  assert.match(await succeed("payments", "list"), /No open notices/);
  assert.equal((await admin("payments", "close", "--notice", notice)).exitCode, 1);
});

test("a suspended wallet cannot spend until it is resumed", async () => {
  const { walletId, liveKey } = await createWallet("1.00");
  const { keyId } = await createKeys(db.ledger, [pepper]).authenticate(liveKey, "192.0.2.1", "search");
  const hold = async () => (await holdBatch(db.ledger, [{ searchId: randomUUIDv7(), walletId, keyId }]))[0]?.outcome;
  await succeed("wallet", "suspend", "--wallet", walletId);
  assert.equal(await hold(), "account_suspended");
  assert.match(await succeed("wallet", "show", "--wallet", walletId), /state +suspended/);
  await succeed("wallet", "resume", "--wallet", walletId);
  assert.equal(await hold(), "held");
});

test("a key is limited to its budget, networks and expiry, and is rejected after revocation", async () => {
  const { walletId } = await createWallet("1.00");
  const create = ["key", "create", "--wallet", walletId, "--mode", "live", "--name", "agent", "--json"];
  const budget = ["--budget-total", "0.02", "--budget-day", "0.01", "--budget-month", "0.50"];
  const networks = ["--allow-ip", "192.0.2.0/24", "--allow-ip", "2001:db8::/32"];
  const limits = ["--expires", "2099-01-01", "--rate", "7", "--in-flight", "3"];
  const made = await succeed(...create, ...budget, ...networks, ...limits);
  const { keyId, key } = JSON.parse(made);
  assert.deepEqual(Object.keys(JSON.parse(made)), ["keyId", "key"]);
  const keys = createKeys(db.ledger, [pepper]);
  const principal = await keys.authenticate(key, "192.0.2.1", "search");
  assert.deepEqual([principal.searchesPerSecond, principal.searchesInFlight], [7, 3]);
  await assert.rejects(keys.authenticate(key, "198.51.100.1", "search"), { code: "ip_not_allowed" });
  assert.equal((await search(walletId, key)).outcome, "held");
  assert.equal((await search(walletId, key)).outcome, "key_budget_spent");

  const list = ["key", "list", "--wallet", walletId];
  assert.match(
    await succeed(...list),
    /agent +pb_live_\w{4}\.\.\. +active +2099-01-01T00:00:00\.000Z +total 0\.01 of 0\.02, day 0\.01 of 0\.01, month 0\.01 of 0\.50/,
  );
  assert.match(await succeed("key", "revoke", "--wallet", walletId, "--key", keyId), /Revoked/);
  assert.match(await succeed("key", "revoke", "--wallet", walletId, "--key", keyId), /already revoked/);
  assert.match(await succeed(...list), /agent .* revoked/);
  await assert.rejects(createKeys(db.ledger, [pepper]).authenticate(key, "192.0.2.1", "search"), {
    code: "api_key_revoked",
  });
});

test("a search is refunded once, and only if it was charged", async () => {
  const { walletId, liveKey } = await createWallet("0.01");
  const { searchId } = await search(walletId, liveKey);
  const refund = ["refund", "--request-id", searchId, "--reason", "bad results"];
  assert.match(await succeed(...refund), /Refunded 0\.01 USD/);
  assert.match(await succeed(...refund), /already refunded/);
  assert.match(await succeed("wallet", "show", "--wallet", walletId), /balance +0\.01 USD/);
  const unknown = await admin("refund", "--request-id", randomUUIDv7(), "--reason", "never happened");
  assert.equal(unknown.exitCode, 1);
  assert.match(unknown.stderr, /No charged search has the Request-Id/);
});

test("an invalid command exits with 2 and an explanation; help exits with 0", async () => {
  const { walletId } = await createWallet("0");
  const key = ["key", "create", "--wallet", walletId, "--name", "k"];
  const wrong: [string[], RegExp][] = [
    [["walet", "create"], /unknown command 'walet'\n\(Did you mean wallet\?\)/],
    [["wallet"], /Commands:\n {2}create [\s\S]* top-up [\s\S]* resume /],
    [["wallet", "create"], /required option '--name <name>' not specified/],
    [["wallet", "create", "--name", "x", "--jsno"], /unknown option '--jsno'\n\(Did you mean --json\?\)/],
    [["wallet", "create", "--name", "x", "--balance", "-1"], /--balance/],
    [["wallet", "create", "--name", "x", "--balance", "1,00"], /--balance must be an amount/],
    [["wallet", "show", "--wallet", "7"], /--wallet must be an id/],
    [["wallet", "top-up", "--wallet", walletId, "--amount", "0", "--payment", "p"], /--amount must be greater than 0/],
    [[...key, "--mode", "life"], /--mode must be live, test or mgmt/],
    [[...key, "--mode", "mgmt", "--budget-day", "1"], /A management key cannot have a budget/],
    [[...key, "--mode", "live", "--expires", "2001-01-01"], /must be in the future/],
    [[...key, "--mode", "live", "--expires", "next week"], /must be a time/],
    [[...key, "--mode", "live", "--allow-ip", "10.0.0.1/8"], /10\.0\.0\.1\/8 must be an IP address or a network/],
    [[...key, "--mode", "live", "--rate", "0"], /--rate must be/],
  ];
  for (const [args, message] of wrong) {
    const { exitCode, stderr, stdout } = await admin(...args);
    assert.deepEqual([exitCode, stdout], [2, ""], args.join(" "));
    assert.match(stderr, message);
  }
  assert.match(await succeed("--help"), /wallet +create, top-up[\s\S]*key +create, list, revoke[\s\S]*reconcile/);
  const help = await succeed("key", "--help");
  assert.match(help, /create .*Create a key/);
  assert.doesNotMatch(help, /top-up/);
});

test("the process exits with the code of its command, and writes results and errors to separate streams", async () => {
  const { walletId } = await createWallet("0.05");
  const shown = await spawnAdmin(environment, "wallet", "show", "--wallet", walletId);
  assert.deepEqual([shown.exitCode, shown.stderr], [0, ""]);
  assert.match(shown.stdout, /balance +0\.05 USD/);
  const missing = await spawnAdmin(environment, "wallet", "show", "--wallet", randomUUIDv7());
  assert.deepEqual([missing.exitCode, missing.stdout], [1, ""]);
  assert.match(missing.stderr, /^No wallet has the id/);
  const usage = await spawnAdmin({}, "wallet", "create");
  assert.deepEqual([usage.exitCode, usage.stdout], [2, ""]);
  assert.match(usage.stderr, /required option '--name <name>' not specified/);
  const help = await spawnAdmin({});
  assert.deepEqual([help.exitCode, help.stderr], [0, ""]);
  assert.match(help.stdout, /wallet +create, top-up/);
});

test("a command that fails exits with 1 and the next step", async () => {
  const missing = await admin("wallet", "show", "--wallet", randomUUIDv7());
  assert.deepEqual([missing.exitCode, missing.stderr.startsWith("No wallet has the id")], [1, true]);
  const unset = await runAdmin({}, "reconcile");
  assert.equal(unset.exitCode, 1);
  assert.match(unset.stderr, /PENNYBLACK_DIRECT_DATABASE_URL is required[\s\S]*npm run dev/);
  const unreachable = await runAdmin(
    { PENNYBLACK_DIRECT_DATABASE_URL: "postgres://pennyblack_owner@127.0.0.1:1/x" },
    "reconcile",
  );
  assert.equal(unreachable.exitCode, 1);
  assert.match(unreachable.stderr, /Cannot connect to PostgreSQL \(ECONNREFUSED\)/);
});

test("ledger differences exit with 1, as text and as JSON", async () => {
  const { walletId } = await createWallet("0.05");
  await db.owner.query("update pb.wallets set debited_micros = 10000 where id = $1", [walletId]);
  const text = await admin("reconcile");
  assert.equal(text.exitCode, 1);
  assert.match(text.stdout, new RegExp(`${walletId}: expected 0, is 10000`));
  const json = await admin("reconcile", "--json");
  assert.equal(json.exitCode, 1);
  assert.equal(JSON.parse(json.stdout).isClean, false);
});

test("every operator action is audited with operator, action and reason", async () => {
  const { walletId, liveKey } = await createWallet("1.00");
  const { searchId } = await search(walletId, liveKey);
  const wallet = ["--wallet", walletId];
  await succeed("wallet", "top-up", ...wallet, "--amount", "2.00", "--payment", "pi_audit", "--reason", "wire");
  const invoice = ["--amount", "3.00", "--kind", "invoice", "--reason", "paid", "--reference", "INV-9"];
  await succeed("credit", ...wallet, ...invoice);
  await succeed("refund", "--request-id", searchId, "--reason", "wrong answer");
  await succeed("wallet", "suspend", "--wallet", walletId, "--reason", "review");
  await succeed("wallet", "resume", "--wallet", walletId);
  const { keyId } = await createKeys(db.ledger, [pepper]).authenticate(liveKey, "192.0.2.1", "search");
  await succeed("key", "revoke", "--wallet", walletId, "--key", keyId, "--reason", "old");
  const lines: Record<string, string>[] = JSON.parse(await succeed("audit", "--wallet", walletId, "--json"));
  assert.deepEqual(
    lines.map(({ act, outcome, reason }) => `${act} ${outcome} ${reason}`),
    [
      "key.revoke revoked old",
      "wallet.resume done none given",
      "wallet.suspend done review",
      "search.refund refunded wrong answer",
      "adjustment.request booked paid",
      "adjustment.request booked wire",
      "adjustment.request booked opening balance",
      "wallet.create done none given",
    ],
  );
  assert.ok(lines.every(({ operator }) => operator));
  assert.match(await succeed("audit", "--wallet", walletId), /INV-9 +3\.00 +paid/);
});

test("the audit log is exported as JSON lines, oldest first, since a given time", async () => {
  const { walletId } = await createWallet("1.00");
  await succeed("wallet", "suspend", "--wallet", walletId, "--reason", "review");
  const readExport = async (...args: string[]): Promise<Record<string, unknown>[]> => {
    const text = await succeed("audit", "--format", "jsonl", "--wallet", walletId, ...args);
    return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));
  };
  const all = await readExport();
  assert.deepEqual(
    all.map(({ act, wallet_id, reason }) => [act, wallet_id, reason]),
    [
      ["wallet.create", walletId, "none given"],
      ["adjustment.request", walletId, "opening balance"],
      ["wallet.suspend", walletId, "review"],
    ],
  );
  assert.deepEqual(await readExport("--since", String(all[1]?.["at"])), all.slice(1));
  for (const args of [
    ["--since", "2026-01-01"],
    ["--format", "xml"],
    ["--format", "jsonl", "--since", "yesterday"],
  ])
    assert.equal((await admin("audit", ...args)).exitCode, 2, args.join(" "));
});
