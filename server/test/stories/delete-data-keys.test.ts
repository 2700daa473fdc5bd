import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { deleteAccount } from "../../src/accounts/accounts.ts";
import { recountUsage, rollUpUsage } from "../../src/usage/roll-up.ts";
import { findWalletAccount } from "../../src/wallet/wallet.ts";
import { createFixture } from "../fixture.ts";
import { until } from "../support/assertions/until.ts";
import { testAct } from "../support/data/test-act.ts";
import type { TestWallet } from "../support/services/server.ts";

// The deletion of an account deletes what depends on the data keys of its wallets, in the same transaction.

const { db, server, createWallet, assertBooksBalance } = await createFixture();
const [wallet, stranger] = [await createWallet("1.00"), await createWallet("1.00")];
const signal = new AbortController().signal;

/** Ages the searches by three minutes, so that the roll-up counts them. */
async function rollUp(): Promise<void> {
  await db.owner.query("update pb.sweep_watermark set settled_before = clock_timestamp()");
  await rollUpUsage(db.owner, signal);
}

/** Rows of a wallet that depend on its data key, or name its end users. */
async function countRows({ walletId }: TestWallet): Promise<Record<string, number>> {
  const { rows } = await db.owner.query<Record<string, number>>(
    `select
       (select count(*)::integer from pb.data_keys where wallet_id = $1) as data_keys,
       (select count(*)::integer from pb.idempotency where wallet_id = $1) as claims,
       (select count(answer)::integer from pb.idempotency where wallet_id = $1) as answers,
       (select count(*)::integer from pb.end_user_settings where wallet_id = $1) as settings,
       (select count(*)::integer from pb.usage_end_users where wallet_id = $1) as usage,
       (select count(*)::integer from pb.budget_windows w join pb.budgets b on b.id = w.budget_id
        where w.wallet_id = $1 and b.per_end_user) as windows`,
    [walletId],
  );
  return rows[0] ?? assert.fail();
}

const deletion = async ({ walletId }: TestWallet) =>
  deleteAccount(db.owner, testAct, (await findWalletAccount(db.owner, walletId)) ?? "", true);

const everything = { data_keys: 1, claims: 3, answers: 3, settings: 1, usage: 2, windows: 2 };
const nothing = { data_keys: 0, claims: 0, answers: 0, settings: 0, usage: 0, windows: 0 };

test("after the deletion of an account, none of its claims, answers, end-user rows and data keys is in the database", async () => {
  for (const { management } of [wallet, stranger]) {
    const limit = { amount: "1.00", period: "day" };
    const created = { mode: "live", name: "app", end_user_limit: limit };
    const { body } = await server.manage(management, "POST", "/v1/keys", created);
    for (const id of ["ada", "bob", "ada"]) {
      const headers = { "search-for": id, "idempotency-key": randomUUID() };
      assert.equal((await server.search(body.key, { query: "cats" }, headers)).status, 200);
    }
    const settings = await server.manage(management, "PUT", "/v1/wallet/end-users", { ids: "hashed" });
    assert.equal(settings.status, 200);
  }
  await rollUp();
  const { live } = wallet;
  // Not counted before the deletion.
  assert.equal((await server.search(live, { query: "cats" }, { "search-for": "eve" })).status, 200);
  assert.deepEqual(await countRows(wallet), everything);
  assert.equal((await deletion(wallet)).outcome, "deleted");
  assert.deepEqual(await countRows(wallet), nothing);

  const retry = { "idempotency-key": randomUUID() };
  const refused = await server.search(live, { query: "cats" }, retry);
  assert.deepEqual([refused.status, refused.body.code], [401, "api_key_revoked"]);
  await rollUp();
  await recountUsage(db.owner, signal);
  assert.deepEqual(await countRows(wallet), nothing, "no count brings rows back");
  assert.deepEqual(await countRows(stranger), everything);
  await assertBooksBalance();
});

test("a deletion waits for a count of end users in progress, and deletes its rows", async () => {
  const count = await db.owner.connect();
  await count.query("begin");
  await count.query("select from pb.usage_watermark for update");
  await count.query("insert into pb.usage_end_users values ($1, current_date, 'live', '~x', 1, 10000)", [
    stranger.walletId,
  ]);
  const deleted = deletion(stranger);
  await until("the deletion waits", async () => {
    const { rows } = await db.owner.query(
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query ~ 'delete_account'",
    );
    return rows.length > 0;
  });
  await count.query("commit");
  count.release();
  assert.equal((await deleted).outcome, "deleted");
  assert.deepEqual(await countRows(stranger), nothing);
});
