import assert from "node:assert/strict";
import { randomBytes, randomUUID, randomUUIDv7 } from "node:crypto";
import { after, beforeEach, test } from "node:test";
import { createTestDatabase } from "../../test/support/services/database.ts";
import { createTestWallet } from "../../test/support/services/server.ts";
import { nameCell } from "../keys/keys.ts";
import { captureBatch, expireHolds, type HoldRequest, holdBatch, releaseBatch } from "./statements.ts";

// While an account is moved to another cell, and after it has moved, every function that writes for it is refused.

const database = await createTestDatabase();
after(() => database.drop());
const { owner } = database;
await nameCell(owner, "eu1");
const { walletId, keyId, accountId, searchId, sessionDigest, invitationDigest, adjustmentId } = await seed();

beforeEach(() => setFence(null));

/** A call of each function that writes for an account, by the roles of servers and by operators. */
const calls: Record<string, string> = {
  label_own_account: "pb.label_own_account()",
  create_own_key: `pb.create_own_key('${keyId}', gen_random_uuid(), 'live', 'x', 1::smallint, sha256('a'), '{}')`,
  change_own_key: `pb.change_own_key('${keyId}', '${keyId}', '{"name": "changed"}')`,
  rotate_own_key: `pb.rotate_own_key('${keyId}', '${keyId}', gen_random_uuid(), 'x', 1::smallint, sha256('b'), 0)`,
  revoke_own_key: `pb.revoke_own_key('${keyId}', '${keyId}')`,
  create_end_user_key: "pb.create_end_user_key('x')",
  set_end_user_ids: "pb.set_end_user_ids(true, 'x')",
  set_alerts: "pb.set_alerts('a@search.test', 1)",
  create_webhook: "pb.create_webhook(gen_random_uuid(), 'https://search.test', '', '{key.created}', 'x', 9)",
  change_webhook: "pb.change_webhook(gen_random_uuid(), null, null, null, false)",
  delete_webhook: "pb.delete_webhook(gen_random_uuid())",
  rotate_webhook_secret: "pb.rotate_webhook_secret(gen_random_uuid(), 'x')",
  test_webhook: "pb.test_webhook(gen_random_uuid())",
  replay_delivery: "pb.replay_delivery(gen_random_uuid())",
  begin_top_up: "pb.begin_top_up(gen_random_uuid(), 10000, sha256('k'), sha256('f'))",
  record_checkout: "pb.record_checkout(gen_random_uuid(), 'c', 'https://search.test', now())",
  record_customer: "pb.record_customer('cus_1')",
  set_auto_top_up: "pb.set_auto_top_up(10000, 10000, 10000, 10000)",
  delete_auto_top_up: "pb.delete_auto_top_up()",
  book_payment: "pb.book_payment('e1', 't', gen_random_uuid(), 'pi_1', 10000, null)",
  end_top_up: "pb.end_top_up('e2', 't', gen_random_uuid(), 'failed', null, null)",
  reverse_payment: "pb.reverse_payment('e3', 't', 're_1', 'refund', 'pi_1', 10000, 'taken')",
  operator_credit: `pb.operator_credit('a', 'r', '${walletId}', 10000, 'promotion', 'ref', gen_random_uuid())`,
  operator_refund: `pb.operator_refund('a', 'r', '${searchId}', gen_random_uuid())`,
  operator_suspend: `pb.operator_suspend('a', 'r', '${walletId}', true)`,
  operator_revoke_key: `pb.operator_revoke_key('a', 'r', '${keyId}')`,
  operator_adjust: `pb.operator_adjust('a', 'r', 'payout', 'ref', '${walletId}', 10000)`,
  operator_decide_adjustment: `pb.operator_decide_adjustment('a', 'r', '${adjustmentId}', false)`,
  operator_top_up: `pb.operator_top_up('a', 'r', '${walletId}', 10000, 'pi_2', gen_random_uuid())`,
  operator_delete_account: `pb.operator_delete_account('a', 'r', '${accountId}', true)`,
  invite: `pb.invite('${accountId}', 'b@search.test', 'viewer', sha256('t'))`,
  change_member: `pb.change_member('${accountId}', gen_random_uuid(), null)`,
  invite_to_team: `pb.invite_to_team(${sessionDigest}, '${walletId}', 'b@search.test', 'viewer', 'x', null, null)`,
  revoke_invitation: `pb.revoke_invitation(${sessionDigest}, '${walletId}', gen_random_uuid())`,
  change_team: `pb.change_team(${sessionDigest}, '${walletId}', gen_random_uuid(), null)`,
  join_account: `pb.join_account(${invitationDigest}, 'Bob', sha256('n'), null)`,
  set_app_wallet: `pb.set_app_wallet(${sessionDigest}, '${walletId}', 10000)`,
  forget_app: `pb.forget_app(${sessionDigest}, '${walletId}', gen_random_uuid())`,
};

/** Functions of server roles that write nothing for an account, or that a move does not have to stop. */
const others = {
  reads: [
    "own_wallet",
    "utc_day",
    "utc_month",
    "uuid_floor",
    "price_micros",
    "usage_as_of",
    "searches_listed_since",
    "own_search_ids",
    "own_version",
    "own_top_up_entry",
    "own_proof",
    "find_principals",
    "find_keys",
    "changed_keys",
    "read_schema_version",
    "owner_cell",
    "operator_health",
    "trial_balance",
    "webhook_lag",
    "read_session",
    "authorize_session",
    "read_team",
    "read_own_invitation",
    "read_apps",
    "retained_since",
    "partition_days_ahead",
    "prunable_partitions",
    "find_test_wallet",
    "read_replica_timeline",
  ],
  // Below: searches in flight are settled, and new ones are refused.
  searches: ["hold", "capture", "release", "sweep"],
  // Skip wallets that are fenced.
  skipFenced: ["begin_auto_top_ups", "expire_top_ups"],
  // Use a function that is listed above.
  indirect: ["accept_own_invitation", "connect_app"],
  // People and their sessions, the ledger of the cell, usage, notices and deliveries.
  ofTheCell: [
    "record_key_uses",
    "write_tally",
    "report_secrets",
    "open_payment_notice",
    "delete_old_payment_events",
    "operator_close_notice",
    "operator_accept_database",
    "close_month",
    "request_sign_in",
    "create_sign_in_token",
    "redeem_sign_in",
    "begin_session",
    "end_session",
    "end_all_sessions",
    "open_own_account",
    "begin_oidc_session",
    "roll_up_usage",
    "recount_usage",
    "make_partitions",
    "dispatch_events",
    "claim_deliveries",
    "return_delivery",
    "finish_delivery",
    "claim_alert_emails",
    "finish_alert_email",
    "claim_sign_in_emails",
    "finish_sign_in_email",
    "delete_expired_answers",
    "delete_expired_runs",
    "delete_old_end_users",
    "delete_old_events",
    "delete_expired_sign_ins",
    "delete_test_searches",
    "save_reconciliation",
    "prepare_hour",
    "close_hour",
    "sign_hour",
    "sign_day",
  ],
};

test("every function that a server role can call is listed here", async () => {
  const { rows } = await owner.query<{ name: string }>(
    `select distinct p.proname as name from pg_proc p, pg_roles r
     where p.pronamespace = 'pb'::regnamespace and r.rolname ~ '^pennyblack_(ledger|tenant|payments|operator|people|worker)$'
       and has_function_privilege(r.oid, p.oid, 'execute')`,
  );
  const listed = new Set([...Object.keys(calls), ...Object.values(others).flat()]);
  assert.deepEqual(
    rows.map(({ name }) => name).filter((name) => !listed.has(name)),
    [],
    "decide whether it writes for an account, and list it in calls or others",
  );
});

for (const [name, call] of Object.entries(calls))
  test(`pb.${name} is refused while the account is moved, and afterwards`, async () => {
    await assert.rejects(run(call, "fenced"), { code: "PB002" });
    await assert.rejects(run(call, "moved"), { code: "PB003" });
    const outcome = await run(call, "active").catch((error: unknown) => error);
    assert.ok(!(outcome instanceof Error && /^PB00[23]$/.test(String(Reflect.get(outcome, "code")))), String(outcome));
  });

test("holds are refused, and searches in flight are captured, released and expired", async () => {
  const [captured, released, expired] = [newHold(), newHold(), newHold()];
  assert.deepEqual(outcomes(await holdBatch(owner, [captured, released, expired])), ["held", "held", "held"]);
  await setFence("8 seconds");
  for (const batch of [[newHold()], [newHold(), newHold()]])
    assert.deepEqual(new Set(outcomes(await holdBatch(owner, batch, false))), new Set(["account_moving"]));
  assert.equal((await captureBatch(owner, [captured]))[0]?.state, "captured");
  assert.equal((await releaseBatch(owner, [released]))[0]?.state, "released");
  await owner.query("update pb.searches set expires_at = now() - interval '1 second' where id = $1", [
    expired.searchId,
  ]);
  assert.equal((await expireHolds(owner, 10)).holds, 1);
  await setFence("infinity");
  assert.deepEqual(outcomes(await holdBatch(owner, [newHold()])), ["account_moving"]);
  await owner.query("insert into pb.account_owners (account_id, epoch, cell) values ($1, 1, 'us2')", [accountId]);
  assert.deepEqual(outcomes(await holdBatch(owner, [newHold()])), ["account_moved"]);
  await owner.query("delete from pb.account_owners");
});

test("a fence ends by itself, and the sweeper removes it", async () => {
  await setFence("-1 second");
  assert.deepEqual(outcomes(await holdBatch(owner, [newHold()], false)), ["held"]);
  assert.equal(await run(calls["set_alerts"] ?? "", "unchanged"), true);
  await expireHolds(owner, 10);
  const { rows } = await owner.query("select from pb.wallets where fenced_until is not null");
  assert.equal(rows.length, 0);
});

test("automatic top-ups do not start and unpaid ones do not expire while the wallet is fenced", async () => {
  await owner.query(
    `insert into pb.auto_top_ups (wallet_id, threshold_micros, amount_micros, day_cap_micros, month_cap_micros)
     values ($1, 100000000, 10000, 10000, 10000)`,
    [walletId],
  );
  await owner.query(
    `insert into pb.top_ups (id, wallet_id, kind, status, amount_micros, saves_card, key_hmac, fingerprint, payment_id,
       settled_at, created_at)
     values (gen_random_uuid(), $1, 'checkout', 'succeeded', 10000, true, sha256('1'), sha256('1'), 'pi_card', now(), now()),
       (gen_random_uuid(), $1, 'checkout', 'pending', 10000, true, sha256('2'), sha256('2'), null, null, now() - interval '3 days')`,
    [walletId],
  );
  const begin = "select count(*) as count from pb.begin_auto_top_ups(array[gen_random_uuid()])";
  const expire = "select pb.expire_top_ups(10) as count";
  await setFence("8 seconds");
  for (const sql of [begin, expire]) assert.equal(await readCount(sql), 0, sql);
  await setFence(null);
  for (const sql of [begin, expire]) assert.equal(await readCount(sql), 1, sql);
});

test("a fence waits for an automatic top-up that is being opened", async () => {
  const client = await owner.connect();
  const fencing = await owner.connect();
  try {
    await client.query("begin");
    await client.query("update pb.top_ups set status = 'failed', settled_at = now() where kind = 'automatic'");
    await client.query("update pb.auto_top_ups set day_cap_micros = 1000000, month_cap_micros = 1000000");
    const begun = await client.query("select from pb.begin_auto_top_ups(array[gen_random_uuid()])");
    assert.equal(begun.rows.length, 1);
    await fencing.query("set lock_timeout = '200ms'");
    await assert.rejects(fencing.query("select pb.fence_account($1, 8000)", [accountId]), { code: "55P03" });
    await client.query("rollback");
    await fencing.query("select pb.fence_account($1, 8000)", [accountId]);
  } finally {
    await client.query("rollback");
    client.release();
    fencing.release(true);
  }
});

async function readCount(sql: string): Promise<number> {
  const { rows } = await owner.query<{ count: number | bigint }>(sql);
  return Number(rows[0]?.count);
}

function newHold(): HoldRequest {
  return { searchId: randomUUIDv7(), walletId, keyId };
}

function outcomes(held: { outcome: string }[]): string[] {
  return held.map(({ outcome }) => outcome);
}

/** How long from now. NULL: no fence. */
async function setFence(interval: string | null): Promise<void> {
  if (interval === "infinity") await owner.query("update pb.wallets set fenced_until = 'infinity'");
  else await owner.query("update pb.wallets set fenced_until = now() + $1::interval", [interval]);
}

/** Calls a function in a transaction that is rolled back. */
async function run(call: string, state: "active" | "fenced" | "moved" | "unchanged"): Promise<unknown> {
  const client = await owner.connect();
  try {
    await client.query("begin");
    if (state === "fenced") await client.query("update pb.wallets set fenced_until = now() + interval '8 seconds'");
    if (state === "moved") {
      await client.query("update pb.wallets set fenced_until = 'infinity'");
      await client.query("insert into pb.account_owners (account_id, epoch, cell) values ($1, 1, 'us2')", [accountId]);
    }
    await client.query("select set_config('pb.wallet_id', $1, true)", [walletId]);
    const { rows } = await client.query<{ outcome: unknown }>(`select ${call} as outcome`);
    return rows[0]?.outcome;
  } finally {
    await client.query("rollback");
    client.release();
  }
}

async function seed() {
  const wallet = await createTestWallet(database, "1.00");
  const { rows } = await owner.query<{ account: string; key: string }>(
    `select w.account_id as account, k.id as key from pb.wallets w join pb.keys k on k.wallet_id = w.id and k.mode = 'live'
     where w.id = $1`,
    [wallet.walletId],
  );
  const [row] = rows;
  assert.ok(row);
  const search = { searchId: randomUUIDv7(), walletId: wallet.walletId, keyId: row.key };
  await holdBatch(owner, [search]);
  await captureBatch(owner, [search]);
  const session = randomBytes(32);
  const invitation = randomBytes(32);
  const person = await owner.query<{ id: string }>("select pb.find_or_create_person('o@search.test', 'Olga') as id");
  await owner.query("insert into pb.members (account_id, person_id, role) values ($1, $2, 'owner')", [
    row.account,
    person.rows[0]?.id,
  ]);
  await owner.query("insert into pb.sessions (digest, person_id, authenticated_at) values ($1, $2, now())", [
    session,
    person.rows[0]?.id,
  ]);
  await owner.query("select pb.invite($1, 'b@search.test', 'viewer', $2)", [row.account, invitation]);
  const adjustment = randomUUID();
  await owner.query(
    `insert into pb.adjustments (id, kind, reference, wallet_id, amount_micros, reason, operator)
     values ($1, 'payout', 'seed', $2, 10000, 'r', 'b')`,
    [adjustment, wallet.walletId],
  );
  return {
    walletId: wallet.walletId,
    keyId: row.key,
    accountId: row.account,
    searchId: search.searchId,
    sessionDigest: `'\\x${session.toString("hex")}'::bytea`,
    invitationDigest: `'\\x${invitation.toString("hex")}'::bytea`,
    adjustmentId: adjustment,
  };
}
