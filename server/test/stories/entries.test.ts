import assert from "node:assert/strict";
import { test } from "node:test";
import { formatUsd, type Micros, parseUsd } from "../../src/lib/money.ts";
import { createFixture } from "../fixture.ts";
import { pluck } from "../support/assertions/pluck.ts";
import type { Reply } from "../support/services/server.ts";

// Wallet entries: pages, filters and the CSV export.

const { db, server, createWallet } = await createFixture();
const wallet = await createWallet("50.00");
const other = await createWallet("1.00");
const searches = 2_600;

// Paid searches of the last two days, as the ledger would have written them.
await db.owner.query(
  `insert into pb.transfers (id, wallet_id, search_id, kind, from_account, to_account, amount_micros, created_at)
   select id, $1, id, 'capture', 'wallet', 'revenue', 10000, at + interval '1 second'
   from (select at, (left(pb.uuid_floor(at)::text, 14) || '7000-8000-' || lpad(n::text, 12, '0'))::uuid as id
     from generate_series(1, $2::integer) n, lateral (select now() - interval '42 hours' + n * interval '55 seconds' as at) m) s`,
  [wallet.walletId, searches],
);
await db.owner.query(
  "update pb.wallets set debited_micros = $2, created_at = now() - interval '3 days' where id = $1",
  [wallet.walletId, searches * 10_000],
);

const get = (path: string, key = wallet.management): Promise<Reply> => server.manage(key, "GET", path);

const hoursAgo = (hours: number): string => new Date(Date.now() - hours * 3_600_000).toISOString();

interface Entry {
  id: string;
  kind: string;
  created_at: string;
}

async function list(parameters: string): Promise<Entry[]> {
  const { status, body } = await get(`/v1/wallet/entries?${parameters}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body.entries;
}

test("entries can be filtered by time and kind", async () => {
  assert.deepEqual(pluck(await list("kind=top_up"), "kind"), ["top_up"]);
  assert.deepEqual(await list("kind=refund"), []);
  assert.deepEqual(new Set((await list("kind=search&limit=100")).map(({ kind }) => kind)), new Set(["search"]));
  const [from, to] = [hoursAgo(30), hoursAgo(29.5)];
  const half = await list(`from=${from}&to=${to}&limit=100`);
  assert.ok(half.length === 32 || half.length === 33, String(half.length));
  assert.ok(half.every((entry) => entry.created_at >= from && Date.parse(entry.created_at) < Date.parse(to) + 2_000));
  assert.deepEqual(await list(`from=${from}&to=${to}&kind=top_up`), []);
  const first = await get(`/v1/wallet/entries?from=${from}&to=${to}&limit=25`);
  const second = await list(`from=${from}&to=${to}&limit=50&cursor=${first.body.next_cursor}`);
  assert.deepEqual([...first.body.entries, ...second], half);
  for (const [parameters, name] of [
    ["kind=capture", "kind"],
    ["from=now", "from"],
  ]) {
    const { status, body } = await get(`/v1/wallet/entries?${parameters}`);
    assert.deepEqual([status, body.errors[0].pointer], [400, `#/${name}`]);
  }
});

test("rare kinds are found with their own index", async () => {
  const client = await db.tenant.connect();
  try {
    await client.query("begin");
    await client.query("select set_config('pb.wallet_id', $1, true)", [wallet.walletId]);
    await client.query("set local enable_seqscan = off");
    const { rows } = await client.query<{ "QUERY PLAN": string }>(
      `explain select id from pb.transfers where wallet_id = '${wallet.walletId}' and kind = 'top_up' and kind <> 'capture'
       order by id desc limit 50`,
    );
    const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
    // PostgreSQL names a partition's index after its columns; the partial index is the second one.
    assert.match(plan, /transfers_\d+_wallet_id_id_idx1/);
  } finally {
    await client.query("rollback");
    client.release();
  }
});

interface Line {
  at: string;
  kind: string;
  amount: Micros;
  balance: Micros;
  id: string;
}

const amountOf = (text = ""): Micros =>
  (text.startsWith("-") ? -1n : 1n) * (parseUsd(text.replace("-", "")) ?? assert.fail(`not an amount: ${text}`));

function readCsv(text: string): Line[] {
  const [header, ...rows] = text.split("\r\n");
  assert.equal(header, "created_at,kind,amount,balance,currency,request_id,id,from_account,to_account,amount_micros");
  assert.equal(rows.pop(), "", "the last line ends with a line break");
  return rows.map((row) => {
    const [at = "", kind = "", amount, balance, currency, , id = ""] = row.split(",");
    assert.equal(currency, "usd");
    return { at, kind, amount: amountOf(amount), balance: amountOf(balance), id };
  });
}

function assertAddsUp(lines: readonly Line[], opening: Micros): void {
  let balance = opening;
  for (const line of lines) {
    balance += line.amount;
    assert.equal(formatUsd(line.balance), formatUsd(balance));
  }
}

test("the export contains every entry once, oldest first, with a running balance", async () => {
  const { status, headers, text } = await get("/v1/wallet/entries.csv");
  assert.equal(status, 200);
  assert.equal(headers.get("content-type"), "text/csv; charset=utf-8; header=present");
  assert.match(headers.get("content-disposition") ?? "", /^attachment; filename="entries-[\d-]+-to-[\d-]+\.csv"$/);
  const lines = readCsv(text);
  assert.equal(lines.length, searches + 1);
  assert.deepEqual(pluck(lines, "id"), lines.map(({ id }) => id).toSorted());
  assert.equal(new Set(lines.map(({ id }) => id)).size, lines.length);
  // The opening balance is 0: the searches here are older than the first top-up, which the ledger would not allow.
  assertAddsUp(lines, 0n);
  assert.equal(formatUsd(lines.at(-1)?.balance ?? 0n), (await server.readMoney(wallet.management)).balance);
});

test("an export of a period starts with the balance of the earlier entries", async () => {
  const whole = readCsv((await get("/v1/wallet/entries.csv")).text);
  for (const [from, to] of [
    [hoursAgo(40), hoursAgo(30)],
    [hoursAgo(20), hoursAgo(10)],
    [hoursAgo(3), hoursAgo(1)],
    [hoursAgo(1), hoursAgo(-1)],
  ]) {
    const part = readCsv((await get(`/v1/wallet/entries.csv?from=${from}&to=${to}`)).text);
    const at = whole.findIndex(({ id }) => id === part[0]?.id);
    assert.ok(part.length > 0 && at >= 0);
    assert.deepEqual(part, whole.slice(at, at + part.length));
  }
});

test("an export contains one tenant's entries, requires a management key and rejects invalid parameters", async () => {
  const theirs = readCsv((await get("/v1/wallet/entries.csv", other.management)).text);
  assert.deepEqual(pluck(theirs, "kind", "amount"), [["top_up", 1_000_000n]]);
  assert.equal((await get("/v1/wallet/entries.csv", wallet.live)).body.code, "insufficient_scope");
  assert.equal((await get("/v1/wallet/entries.csv?limit=1")).status, 400);
  assert.equal((await get("/v1/wallet/entries.csv?from=2026-02-01&to=2026-01-01")).status, 400);
});
