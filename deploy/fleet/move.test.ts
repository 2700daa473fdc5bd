import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { choosePort } from "../../server/src/dev/choose-port.ts";
import { createKey, nameCell } from "../../server/src/keys/keys.ts";
import { FleetFault } from "../../server/src/operator/operator-client.ts";
import { createKeyBudget } from "../../server/src/wallet/wallet.ts";
import { createFixture, type Fixture } from "../../server/test/fixture.ts";
import { type TestServer, testPepper } from "../../server/test/support/services/server.ts";
import { type MoveOptions, type MoveStep, moveAccount, moveSteps, previewMove } from "./move.ts";

// Two cells, each with its own database and server, and an account that moves between them while it is used.

const eu1 = await startCell("eu1");
const us2 = await startCell("us2");
const eu1Port = await choosePort({ host: "127.0.0.1" });
const us2Port = await choosePort({ host: "127.0.0.1" });
const addresses = `eu1=http://127.0.0.1:${eu1Port},us2=http://127.0.0.1:${us2Port}`;
const eu1Server = await startServer(eu1, "eu1", eu1Port);
const us2Server = await startServer(us2, "us2", us2Port);
for (const server of [eu1Server, us2Server]) assert.equal(await server.app.checkDatabase(), undefined);
const cells = [
  { name: "eu1", databaseUrl: eu1.db.ownerUrl },
  { name: "us2", databaseUrl: us2.db.ownerUrl },
];

test("an account moves with its balance, keys, budgets, runs and stored answers, and back", async () => {
  const { account, walletId, live, mgmt } = await createAccount("1.00");
  const limits = { total: 500_000n, day: 40_000n, month: 50_000n };
  const budgetId = await createKeyBudget(eu1.db.owner, { walletId, mode: "live" }, limits);
  const { key } = await createKey(eu1.db.owner, testPepper, { walletId, mode: "live", name: "capped", budgetId });
  const retried = { "idempotency-key": randomUUID() };
  const inRun = { "search-run": `agent-${walletId}; max=0.03; ttl=600` };
  assert.equal((await eu1Server.search(live, question, retried)).status, 200);
  assert.equal((await eu1Server.search(key, question, inRun)).status, 200);
  const webhook = await eu1Server.manage(mgmt, "POST", "/v1/webhooks", {
    url: "https://hooks.search.test/x",
    events: ["key.created"],
  });
  assert.equal(webhook.status, 200, webhook.text);

  const first = await move(account, "us2");
  assert.deepEqual([first.outcome, first.epoch], ["moved", 1]);
  assert.ok(first.pauseMs < 2_000, String(first.pauseMs));
  await assertServedBy(account, "us2");
  assert.equal((await us2Server.readMoney(mgmt)).balance, "0.98");
  const replayed = await us2Server.search(live, question, retried);
  assert.deepEqual([replayed.status, replayed.headers.get("idempotent-replayed")], [200, "true"]);
  assert.equal((await us2Server.readMoney(mgmt)).balance, "0.98");
  assert.equal((await us2Server.search(key, question, inRun)).headers.get("wallet-charge"), "0.01;currency=usd");
  const hooks = await us2Server.manage(mgmt, "GET", "/v1/webhooks");
  assert.ok(hooks.text.includes(webhook.body.id), hooks.text);

  // The other cell forwards, also changes, until the proxy knows where the account is.
  const forwarded = await eu1Server.search(key, question, inRun);
  assert.deepEqual([forwarded.status, forwarded.headers.get("wallet-charge")], [200, "0.01;currency=usd"]);
  assert.equal((await eu1Server.readMoney(mgmt)).balance, "0.96");
  assert.equal((await eu1Server.search(live, question, retried)).headers.get("idempotent-replayed"), "true");
  assert.equal((await eu1Server.search(key, question, inRun)).body.code, "run_budget_spent");
  const made = await eu1Server.manage(mgmt, "POST", "/v1/keys", { mode: "live", name: "made after the move" });
  assert.equal(made.status, 200, made.text);
  assert.equal((await us2Server.search(made.body.key, question)).status, 200);
  await assertBooksBalance();

  for (let round = 0; round < 5; round += 1) {
    assert.equal((await move(account, round % 2 === 0 ? "eu1" : "us2")).outcome, "moved");
    const server = round % 2 === 0 ? eu1Server : us2Server;
    assert.equal((await server.search(made.body.key, question)).status, 200);
    await assertBooksBalance();
  }
  assert.equal((await eu1Server.readMoney(mgmt)).balance, "0.90");
  assert.equal((await eu1Server.search(key, question)).status, 200);
  const spent = await eu1Server.search(key, question);
  assert.deepEqual([spent.body.code, spent.body.spent], ["key_budget_spent", "0.04"]);
  await assertBooksBalance();
});

test("searches during a move wait and succeed, each charged once", async () => {
  const { account, live, mgmt } = await createAccount("5.00");
  const counts = { ok: 0, other: [] as string[] };
  const ended = new AbortController();
  const callers = [eu1Server, us2Server, eu1Server].map(async (server, caller) => {
    // The proxy routes to the birth cell until its map is changed.
    while (!ended.signal.aborted) {
      const reply = await (caller === 1 && counts.ok === 0 ? eu1Server : server).search(live, question);
      if (reply.status === 200) counts.ok += 1;
      else counts.other.push(`${server.url} ${reply.text}`);
      if (caller === 1) await sleep(50);
    }
  });
  await sleep(200);
  for (const to of ["us2", "eu1", "us2", "eu1"]) {
    assert.equal((await move(account, to)).outcome, "moved");
    await sleep(200);
  }
  ended.abort();
  await Promise.all(callers);
  const unexpected = counts.other.filter((text) => !text.includes("api_key_invalid"));
  assert.deepEqual(unexpected, []);
  assert.equal((await eu1Server.readMoney(mgmt)).balance, (5 - counts.ok / 100).toFixed(2));
  await assertBooksBalance();
});

test("a move that is interrupted after any step is completed by repeating it", async () => {
  const { account, live, mgmt } = await createAccount("1.00");
  let to = "us2";
  for (const step of moveSteps) {
    await assert.rejects(move(account, to, { onStep: stopAfter(step) }), /stopped/);
    const active = await countActive(account);
    assert.ok(active <= 1, `${step}: active in ${active} cells`);
    const moved = await move(account, to);
    assert.notEqual(moved.outcome, "undone", step);
    await assertServedBy(account, to);
    assert.equal((await (to === "us2" ? us2Server : eu1Server).search(live, question)).status, 200, step);
    to = to === "us2" ? "eu1" : "us2";
  }
  assert.equal((await eu1Server.readMoney(mgmt)).balance, (1 - moveSteps.length / 100).toFixed(2));
  await assertBooksBalance();
});

test("a hand-over after the end of the fence is refused, and a search in between is not lost", async () => {
  const { account, walletId, live, mgmt } = await createAccount("1.00");
  let isFirst = true;
  const moved = await move(account, "us2", {
    async onStep(step) {
      if (step !== "import" || !isFirst) return;
      isFirst = false;
      await eu1.db.owner.query("update pb.wallets set fenced_until = null where id = $1", [walletId]);
      assert.equal((await eu1Server.search(live, question)).status, 200);
    },
  });
  assert.equal(moved.outcome, "moved");
  assert.equal((await us2Server.readMoney(mgmt)).balance, "0.99");
  await assertBooksBalance();
});

test("searches that do not end undo the move", async () => {
  const { account, live, mgmt } = await createAccount("1.00");
  await eu1.upstream.behave("slow_headers", { everyMs: 3_000 });
  const slow = eu1Server.search(live, question);
  await sleep(300);
  const moved = await move(account, "us2", { maxDrainMs: 200, attempts: 2 });
  assert.equal(moved.outcome, "undone");
  await eu1.upstream.behave("ok");
  assert.equal((await slow).status, 200);
  await assertServedBy(account, "eu1");
  assert.equal((await eu1Server.readMoney(mgmt)).balance, "0.99");
  await assertBooksBalance();
});

test("a request of a moved account gets 503 while its cell cannot be read, or is not reachable", async () => {
  const { account, live, mgmt } = await createAccount("1.00");
  assert.equal((await move(account, "us2")).outcome, "moved");
  await eu1.db.owner.query("revoke execute on function pb.owner_cell from pennyblack_ledger");
  const replies = [await eu1Server.search(live, question), await eu1Server.manage(mgmt, "GET", "/v1/wallet")];
  await eu1.db.owner.query("grant execute on function pb.owner_cell to pennyblack_ledger");
  for (const { status, body } of replies) assert.deepEqual([status, body.code], [503, "ledger_unavailable"]);

  const alone = await eu1.startServer({ PENNYBLACK_CELL: "eu1", PENNYBLACK_CELLS: "us2=http://127.0.0.1:1" });
  const { status, body } = await alone.search(live, question);
  assert.deepEqual([status, body.code, body.charged], [503, "account_moving", false]);
  await assertBooksBalance();
});

test("a dry run reports what would move, and faults prevent a move", async () => {
  const { account, walletId, live } = await createAccount("1.00");
  await eu1Server.search(live, question, { "idempotency-key": randomUUID() });
  const preview = await previewMove(options(account, "us2"));
  assert.deepEqual([preview.from, preview.faults, preview.rows["keys"], preview.claims], ["eu1", [], 2, 1]);
  await assertServedBy(account, "eu1");

  await eu1.db.owner.query("insert into pb.payment_customers (wallet_id, customer_id) values ($1, $2)", [
    walletId,
    randomUUID(),
  ]);
  await assert.rejects(move(account, "us2"), faultMatching(/--same-payment-account/));
  await eu1.db.owner.query("delete from pb.payment_customers where wallet_id = $1", [walletId]);
  await us2.db.owner.query("update pb.secret_reports set pepper_checks = array[$1::bytea]", [Buffer.alloc(32)]);
  await assert.rejects(move(account, "us2"), faultMatching(/KEY_PEPPERS of us2 does not list version 1 of eu1/));
  assert.equal(await us2Server.app.checkDatabase(), undefined);
  await us2.db.owner.query("update pb.schema_version set version = version + 1");
  await assert.rejects(move(account, "us2"), faultMatching(/schema version/));
  await us2.db.owner.query("update pb.schema_version set version = version - 1");
  await assert.rejects(move(randomUUID(), "us2"), faultMatching(/No cell has the account/));
  await assert.rejects(move(account, "ap3"), faultMatching(/ap3 is not a cell/));
  await assertServedBy(account, "eu1");
});

const question = { query: "cats" };

function startServer(cell: Fixture, name: string, port: number): Promise<TestServer> {
  return cell.startServer({ PORT: String(port), PENNYBLACK_CELL: name, PENNYBLACK_CELLS: addresses });
}

async function startCell(name: string): Promise<Fixture> {
  const fixture = await createFixture();
  await nameCell(fixture.db.owner, name);
  return fixture;
}

/** In eu1, with keys that have its label. */
async function createAccount(balance: string): Promise<{
  account: string;
  walletId: string;
  live: string;
  mgmt: string;
}> {
  const { walletId } = await eu1.createWallet(balance);
  await eu1.db.owner.query("delete from pb.keys where wallet_id = $1", [walletId]);
  const [live, mgmt] = await Promise.all(
    (["live", "mgmt"] as const).map((mode) => createKey(eu1.db.owner, testPepper, { walletId, mode, name: mode })),
  );
  const { rows } = await eu1.db.owner.query<{ account: string }>(
    "select account_id as account from pb.wallets where id = $1",
    [walletId],
  );
  return { account: rows[0]?.account ?? "", walletId, live: live?.key ?? "", mgmt: mgmt?.key ?? "" };
}

function options(account: string, to: string): MoveOptions {
  return { cells, account, to, operator: "alice", reason: "test" };
}

function move(account: string, to: string, more: Partial<MoveOptions> = {}) {
  return moveAccount({ ...options(account, to), ...more });
}

function stopAfter(last: MoveStep): (step: MoveStep) => void {
  return (step) => {
    if (step === last) throw new Error("stopped");
  };
}

async function countActive(account: string): Promise<number> {
  const found = await Promise.all(
    [eu1, us2].map(({ db }) =>
      db.owner.query(
        "select from pb.wallets where account_id = $1 and (fenced_until is null or fenced_until <= now())",
        [account],
      ),
    ),
  );
  return found.filter(({ rows }) => rows.length > 0).length;
}

async function assertServedBy(account: string, cell: string): Promise<void> {
  for (const [name, { db }] of [["eu1", eu1] as const, ["us2", us2] as const]) {
    const { rows } = await db.owner.query<{ active: boolean }>(
      "select is_active as active from pb.read_account_place($1)",
      [account],
    );
    assert.equal(rows[0]?.active, name === cell, name);
  }
}

/** In both cells, and the balances moved between them sum to zero. */
async function assertBooksBalance(): Promise<void> {
  await eu1.assertBooksBalance();
  await us2.assertBooksBalance();
  let sum = 0n;
  for (const { db } of [eu1, us2]) {
    const { rows } = await db.owner.query<{ micros: bigint }>(
      `select coalesce(sum(case when to_account = 'other_cells' then amount_micros else -amount_micros end), 0)::bigint
         as micros
       from pb.transfers where kind = 'move'`,
    );
    sum += BigInt(rows[0]?.micros ?? 0);
  }
  assert.equal(sum, 0n);
}

function faultMatching(pattern: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof FleetFault && pattern.test(error.message);
}
