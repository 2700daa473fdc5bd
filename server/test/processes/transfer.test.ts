import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { reconcile as reconcileCells } from "../../src/cells/fleet-commands.ts";
import { nameCell } from "../../src/cells/name-cell.ts";
import { createFixture, type Fixture } from "../fixture.ts";
import { closeAfter } from "../support/close-after.ts";
import { testAct } from "../support/data/test-act.ts";
import { withoutTriggers } from "../support/data/without-triggers.ts";
import { type AdminRun, runAdmin } from "../support/services/admin-process.ts";
import type { TestDatabase } from "../support/services/database.ts";
import { operators, operatorToken, testEnvironment } from "../support/services/server.ts";

// Transfers of a balance between three cells with `npm run admin -- transfer`, and every way in which one is refused.

const folder = mkdtempSync(join(tmpdir(), "pennyblack-transfer-"));
closeAfter({ close: async () => rmSync(folder, { recursive: true }) });
const tokenFile = join(folder, "token");
writeFileSync(tokenFile, operatorToken);

interface TestCell extends Fixture {
  name: string;
  jwks: string;
  admin(...args: string[]): Promise<AdminRun>;
}

async function startCell(name: string): Promise<TestCell> {
  const seed = randomBytes(32).toString("base64");
  const own = { PENNYBLACK_CELL: name, PENNYBLACK_SIGNING_KEYS: seed };
  const fixture = await createFixture((db) => ({
    ...own,
    PENNYBLACK_OPERATOR_DATABASE_URL: db.operatorUrl,
    PENNYBLACK_OPERATORS: operators,
  }));
  await nameCell(fixture.db.owner, name, testAct);
  const jwks = join(folder, `${name}.jwks.json`);
  writeFileSync(jwks, (await fixture.server.request("/.well-known/jwks.json")).text);
  const environment = { ...testEnvironment(fixture.db), ...own, PENNYBLACK_DIRECT_DATABASE_URL: fixture.db.ownerUrl };
  return { ...fixture, name, jwks, admin: (...args) => runAdmin(environment, ...args) };
}

const eu1 = await startCell("eu1");
const us2 = await startCell("us2");
const ap3 = await startCell("ap3");
const cells = [eu1, us2, ap3].map(({ name, server }) => ({ name, url: server.opsUrl, tokenFile }));

let references = 0;
const nextReference = (): string => `T-${(references += 1)}`;

interface Out {
  wallet: string;
  toWallet: string;
  reference?: string;
  amount?: string;
  to?: string;
  by?: string;
}

function transferOut(cell: TestCell, { wallet, toWallet, reference = nextReference(), amount, to = "us2", by }: Out) {
  const ids = ["--wallet", wallet, "--to", to, "--to-wallet", toWallet, "--reference", reference, "--reason", "moves"];
  const options = [...(amount === undefined ? [] : ["--amount", amount]), ...(by === undefined ? [] : ["--by", by])];
  return cell.admin("transfer", "out", ...ids, ...options);
}

function transferIn(cell: TestCell, document: string, jwks = eu1.jwks): Promise<AdminRun> {
  const file = join(folder, "document");
  writeFileSync(file, document);
  return cell.admin("transfer", "in", "--document", file, "--jwks", jwks, "--reason", "moves");
}

async function balanceOf({ db }: TestCell, walletId: string): Promise<string> {
  const { rows } = await db.owner.query<{ balance: string }>(
    "select (credited_micros - debited_micros)::text as balance from pb.wallets where id = $1",
    [walletId],
  );
  return rows[0]?.balance ?? "";
}

/** The lines about one transfer. The workers of these cells have never reconciled. */
async function listDifferences(reference: string): Promise<string[]> {
  const { text } = await reconcileCells(cells);
  return text
    .split("\n")
    .filter((line) => line.includes(` ${reference} `))
    .map((line) => line.trim().replaceAll(/ +/g, " "));
}

async function expectRefused(run: Promise<AdminRun>, message: RegExp): Promise<void> {
  const { exitCode, stderr } = await run;
  assert.equal(exitCode, 1, stderr);
  assert.match(stderr, message);
}

test("a transfer is booked once on each side, and repeating either command prints the first result", async () => {
  const [from, to] = [await eu1.createWallet("5.00"), await us2.createWallet("1.00")];
  const out = { wallet: from.walletId, toWallet: to.walletId, reference: nextReference(), amount: "2.00" };
  const sent = await transferOut(eu1, out);
  assert.equal(sent.exitCode, 0, sent.stderr);
  assert.deepEqual(await listDifferences(out.reference), [`eu1 ${out.reference} us2 2.00 (eu1) sent and not received`]);
  assert.equal((await transferOut(eu1, out)).stdout, sent.stdout);
  assert.match((await transferIn(us2, sent.stdout)).stdout, /^Booked 2\.00 USD from eu1, reference T-1\.$/m);
  assert.match((await transferIn(us2, sent.stdout)).stdout, /^Already booked 2\.00 USD/m);
  assert.deepEqual([await balanceOf(eu1, from.walletId), await balanceOf(us2, to.walletId)], ["3000000", "3000000"]);
  assert.deepEqual(await listDifferences(out.reference), []);
  const entries = await us2.server.manage(to.management, "GET", "/v1/wallet/entries?limit=1");
  assert.deepEqual([entries.body.entries[0].kind, entries.body.entries[0].amount], ["transfer_in", "2.00"]);
  await expectRefused(
    transferOut(eu1, { ...out, amount: "1.00" }),
    /already used with a different wallet, amount or target/,
  );
  await expectRefused(
    transferOut(eu1, { ...out, to: "ap3" }),
    /already used with a different wallet, amount or target/,
  );
});

test("a document is accepted only unchanged, by the cell and the wallet that it names, from the cell that signed it", async () => {
  const [from, to, other] = [await eu1.createWallet("5.00"), await us2.createWallet(), await ap3.createWallet()];
  const { stdout } = await transferOut(eu1, { wallet: from.walletId, toWallet: to.walletId });
  const [header, payload = "", signature] = stdout.trim().split(".");
  const change = (changes: object): string => {
    const changed = { ...(JSON.parse(Buffer.from(payload, "base64url").toString()) as object), ...changes };
    return [header, Buffer.from(JSON.stringify(changed)).toString("base64url"), signature].join(".");
  };
  const wasChanged = /The document was changed, or was signed with another key/;
  await expectRefused(transferIn(us2, change({ amount: "50.00" })), wasChanged);
  await expectRefused(transferIn(ap3, change({ target: "ap3", targetWallet: other.walletId })), wasChanged);
  await expectRefused(transferIn(us2, stdout, us2.jwks), wasChanged);
  await expectRefused(transferIn(ap3, stdout), /names another cell/);
  const unknown = await transferOut(eu1, {
    wallet: (await eu1.createWallet("1.00")).walletId,
    toWallet: other.walletId,
  });
  await expectRefused(transferIn(us2, unknown.stdout), /No wallet of an account in this cell/);
  assert.equal((await transferIn(us2, stdout)).exitCode, 0);
  assert.equal(await balanceOf(us2, to.walletId), "5000000");
  assert.equal(await balanceOf(ap3, other.walletId), "0");
});

test("only the available balance of an active wallet without debt is transferred", async () => {
  const to = await us2.createWallet();
  const from = await eu1.createWallet("1.00");
  const toWallet = to.walletId;
  const setWallet = (change: string): Promise<unknown> =>
    eu1.db.owner.query(`update pb.wallets set ${change} where id = $1`, [from.walletId]);
  await expectRefused(
    transferOut(eu1, { wallet: from.walletId, toWallet, amount: "1.01" }),
    /available balance .* too low/,
  );
  await setWallet("suspended_at = now()");
  await expectRefused(transferOut(eu1, { wallet: from.walletId, toWallet }), /The wallet is suspended/);
  await setWallet("suspended_at = null, owed_micros = 1");
  await expectRefused(transferOut(eu1, { wallet: from.walletId, toWallet }), /The wallet owes money/);
  await setWallet("owed_micros = 0, held_micros = 10000");
  const { stdout, stderr } = await transferOut(eu1, { wallet: from.walletId, toWallet });
  const { amount } = JSON.parse(Buffer.from(stdout.split(".")[1] ?? "", "base64url").toString()) as { amount: string };
  assert.equal(amount, "0.99", stderr);
  await setWallet("held_micros = 0");
  await expectRefused(transferOut(eu1, { wallet: toWallet, toWallet }), /No wallet of an account in this cell/);
});

test("above the limit a second operator approves before the document is printed", async () => {
  const [from, to] = [await eu1.createWallet("300.00"), await us2.createWallet()];
  const out = { wallet: from.walletId, toWallet: to.walletId, reference: nextReference(), amount: "200.00", by: "ada" };
  const requested = await transferOut(eu1, out);
  assert.match(requested.stderr, /^Requested 200\.00 USD\. A second operator must approve it/);
  assert.equal(requested.stdout, "");
  const id = /--adjustment (\S+)/.exec(requested.stderr)?.[1] ?? "";
  await expectRefused(transferOut(eu1, out), /A second operator must approve it/);
  assert.equal((await eu1.admin("adjust", "approve", "--adjustment", id, "--by", "grace")).exitCode, 0);
  const { stdout } = await transferOut(eu1, out);
  assert.equal((await transferIn(us2, stdout)).exitCode, 0);
  assert.equal(await balanceOf(us2, to.walletId), "200000000");
});

test("a source that was restored to before a transfer is reported, and books it again from the document", async () => {
  const [from, to] = [await eu1.createWallet("4.00"), await us2.createWallet()];
  const reference = nextReference();
  const { stdout } = await transferOut(eu1, { wallet: from.walletId, toWallet: to.walletId, reference });
  assert.equal((await transferIn(us2, stdout)).exitCode, 0);
  await forgetTransfer(eu1.db, reference, from.walletId);
  assert.deepEqual(await listDifferences(reference), [`eu1 ${reference} us2 4.00 (us2) received and not sent`]);
  const file = join(folder, "again");
  writeFileSync(file, stdout);
  const again = await eu1.admin("transfer", "out", "--document", file, "--reason", "restored");
  assert.equal(again.stdout, stdout, again.stderr);
  assert.deepEqual(await listDifferences(reference), []);
  assert.equal(await balanceOf(eu1, from.walletId), "0");
});

test("the ledgers of all cells are clean, and their clearing accounts sum to the amount not yet received", async () => {
  let cleared = 0n;
  for (const { db, assertBooksBalance } of [eu1, us2, ap3]) {
    await assertBooksBalance();
    const { rows } = await db.owner.query<{ micros: bigint }>(
      `select coalesce(sum(case when from_account = 'other_cells' then amount_micros else -amount_micros end), 0)::bigint as micros
       from pb.transfers where 'other_cells' in (from_account, to_account)`,
    );
    cleared += rows[0]?.micros ?? 0n;
  }
  // The document with an unknown wallet, and the one of the wallet with a hold.
  assert.equal(cleared, -1_990_000n);
});

/** As a restore to a time before the transfer. */
async function forgetTransfer({ owner }: TestDatabase, reference: string, walletId: string): Promise<void> {
  const ofReference = `(select id from pb.adjustments where reference = '${reference}')`;
  await owner.query(
    withoutTriggers(`
      alter table pb.cell_transfers disable trigger cell_transfers_append_only;
      with gone as (delete from pb.transfers where wallet_id = '${walletId}' and kind = 'transfer_out' returning amount_micros)
      update pb.wallets set debited_micros = debited_micros - (select amount_micros from gone) where id = '${walletId}';
      delete from pb.cell_transfers where adjustment_id = ${ofReference};
      delete from pb.adjustments where reference = '${reference}';
      alter table pb.cell_transfers enable trigger cell_transfers_append_only`),
  );
}
