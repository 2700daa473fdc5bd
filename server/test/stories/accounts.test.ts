import assert from "node:assert/strict";
import { randomBytes, randomUUIDv7 } from "node:crypto";
import { test } from "node:test";
import {
  acceptInvitation,
  changeRole,
  deleteAccount,
  invite,
  listAccounts,
  listMembers,
  type OpenedAccount,
  removeMember,
  signUp,
  type TrialOutcome,
} from "../../src/accounts/accounts.ts";
import { createKeys } from "../../src/keys/keys.ts";
import { createSecrets, type Secrets } from "../../src/lib/secrets.ts";
import { captureBatch, holdBatch, releaseBatch } from "../../src/wallet/statements.ts";
import { findWalletAccount, readWallet, setTrialTerms } from "../../src/wallet/wallet.ts";
import { assertBooksBalance, createDatabase } from "../fixture.ts";
import { countBy } from "../support/assertions/count-by.ts";
import { pluck } from "../support/assertions/pluck.ts";
import { until } from "../support/assertions/until.ts";
import { addTestMember } from "../support/console-fixture.ts";
import { seedWallet } from "../support/data/seed-wallet.ts";
import { testAct } from "../support/data/test-act.ts";

const pepper = { version: 1, bytes: randomBytes(32) };
const secrets = createSecrets([randomBytes(32)]);
const db = await createDatabase();

type SignedUp = OpenedAccount & { trial: TrialOutcome };

function signUpAs(email: string, trialSecrets?: Secrets): Promise<SignedUp> {
  const request = { email, personName: "Ada", accountName: "Ada & Co", act: testAct };
  return signUp(db.owner, request, { pepper, trialSecrets });
}

async function offerTrials(maxPerDay = 1_000): Promise<void> {
  await setTrialTerms(db.owner, { amount: 500_000n, maxPerDay }, testAct);
}

await offerTrials();

/** With a trial, if one is available. */
const tryOut = (email: string): Promise<SignedUp> => signUpAs(email, secrets);

test("every wallet has an account, even if it is created without one", async () => {
  const { walletId } = await seedWallet(db.owner);
  assert.ok(await findWalletAccount(db.owner, walletId));
  await assert.rejects(db.owner.query("update pb.wallets set account_id = null where id = $1", [walletId]), {
    code: "23502",
  });
});

test("signing up creates an account with an owner, a wallet and working keys", async () => {
  const { accountId, walletId, liveKey, trial } = await signUpAs("ada@signup.test");
  assert.equal(trial, "none");
  const [member, ...others] = await listMembers(db.owner, accountId);
  assert.deepEqual([member?.email, member?.name, member?.role, others.length], ["ada@signup.test", "Ada", "owner", 0]);
  const { walletId: found } = await createKeys(db.ledger, [pepper]).authenticate(liveKey, "192.0.2.1", "search");
  assert.equal(found, walletId);
  const [account] = await listAccounts(db.owner, { email: "ada@signup.test", limit: 10 });
  assert.deepEqual([account?.id, account?.wallets[0]?.id], [accountId, walletId]);
});

test("a person gets one trial, even with other spellings of the same address", async () => {
  const first = await tryOut("grace.h@gmail.com");
  assert.equal(first.trial, "given");
  assert.equal((await readWallet(db.owner, first.walletId))?.balance, 500_000n);
  for (const email of ["grace.h@gmail.com", "graceh+2@gmail.com", "g.raceh@googlemail.com"]) {
    const again = await tryOut(email);
    assert.equal(again.trial, "already_given");
    assert.equal((await readWallet(db.owner, again.walletId))?.balance, 0n);
  }
  assert.equal((await tryOut("grace.h@other.test")).trial, "given");
  await deleteAccount(db.owner, { operator: "test", reason: "a test" }, first.accountId, true);
  assert.equal(
    (await tryOut("graceh@gmail.com")).trial,
    "already_given",
    "deleting the account does not allow a second trial",
  );
  await assertBooksBalance(db);
});

test("concurrent sign-ups cannot exceed the daily trial limit or get one person two trials", async () => {
  await db.owner.query("delete from pb.trial_days");
  await offerTrials(5);
  const many = await Promise.all(Array.from({ length: 20 }, (_, number) => tryOut(`many${number}@rush.test`)));
  assert.deepEqual(
    countBy(many, ({ trial }) => trial),
    { given: 5, day_is_full: 15 },
  );
  await offerTrials();
  const one = await Promise.all(Array.from({ length: 8 }, (_, number) => tryOut(`one+${number}@rush.test`)));
  assert.deepEqual(
    countBy(one, ({ trial }) => trial),
    { given: 1, already_given: 7 },
  );
  await offerTrials(0);
  assert.equal((await tryOut("late@rush.test")).trial, "day_is_full");
  await offerTrials();
  // A person without a trial because the day was full can get one later.
  assert.equal((await tryOut("many19@rush.test")).trial === "given", many[19]?.trial !== "given");
  await assertBooksBalance(db);
});

test("an invitation can be accepted once before it expires, and a new one replaces it", async () => {
  const { accountId } = await signUpAs("owner@invite.test");
  const ask = () => invite(db.owner, { accountId, email: "bob@invite.test", role: "viewer" });
  const [first, second] = [await ask(), await ask()];
  assert.ok(first && second);
  const accept = (token: string) => acceptInvitation(db.owner, { token, name: "Bob" });
  assert.equal(await accept(first.token), undefined, "replaced");
  assert.equal(await accept("nonsense"), undefined);
  const joined = await Promise.all([accept(second.token), accept(second.token), accept(second.token)]);
  assert.equal(joined.filter(Boolean).length, 1);
  const late = await ask();
  await db.owner.query("update pb.invitations set expires_at = clock_timestamp() where id = $1", [late?.id]);
  assert.equal(await accept(late?.token ?? ""), undefined, "too late");
  assert.deepEqual(
    (await listMembers(db.owner, accountId)).map(({ email, role }) => `${email} ${role}`),
    ["owner@invite.test owner", "bob@invite.test viewer"],
  );
  const { rows } = await db.owner.query("select from pb.invitations where digest = $1", [Buffer.from(second.token)]);
  assert.equal(rows.length, 0, "the token itself is not stored");
  assert.equal(await invite(db.owner, { accountId: randomUUIDv7(), email: "x@y.test", role: "viewer" }), undefined);
});

test("an invitation does not change the role of an existing member", async () => {
  const { accountId } = await signUpAs("boss@keep.test");
  await addTestMember(db, accountId, "boss@keep.test", "viewer");
  assert.deepEqual(pluck(await listMembers(db.owner, accountId), "role"), ["owner"]);
});

test("the last owner cannot leave or change role, even if two owners leave concurrently", async () => {
  const { accountId } = await signUpAs("first@owners.test");
  const [owner] = await listMembers(db.owner, accountId);
  const first = owner?.personId ?? "";
  assert.equal(await removeMember(db.owner, { accountId, personId: first }), "last_owner");
  assert.equal(await changeRole(db.owner, { accountId, personId: first, role: "viewer" }), "last_owner");
  const second = await addTestMember(db, accountId, "second@owners.test", "owner");
  const leave = async (personId: string) => {
    const client = await db.owner.connect();
    await client.query("begin");
    await client.query("set local lock_timeout = '60s'");
    await client.query("delete from pb.members where account_id = $1 and person_id = $2", [accountId, personId]);
    return client;
  };
  const [one, other] = [await leave(first), await leave(second)];
  // Both have deleted their membership, and neither has committed.
  await one.query("set constraints all immediate");
  const { rows: pids } = await other.query<{ pid: number }>("select pg_backend_pid() as pid");
  const refused = assert.rejects(other.query("set constraints all immediate"), { constraint: "account_has_owner" });
  try {
    await until("the second waits for the first", async () => {
      const waiting = await db.owner.query("select from pg_locks where pid = $1 and not granted", [pids[0]?.pid]);
      return waiting.rowCount === 1;
    });
  } finally {
    await one.query("commit");
  }
  await refused;
  for (const client of [one, other]) client.release(true);
  assert.deepEqual(pluck(await listMembers(db.owner, accountId), "personId"), [second]);
  assert.equal(await removeMember(db.owner, { accountId, personId: randomUUIDv7() }), "not_found");
});

test("deleting an account requires confirmation while it has a balance, keeps the ledger and removes personal data", async () => {
  const { accountId, walletId, liveKey } = await tryOut("zoe.private@leave.test");
  await addTestMember(db, accountId, "yan.private@leave.test", "developer");
  await invite(db.owner, { accountId, email: "xi.private@leave.test", role: "viewer" });
  const elsewhere = await signUpAs("yan.private@leave.test");
  const { keyId } = await createKeys(db.ledger, [pepper]).authenticate(liveKey, "192.0.2.1", "search");
  await db.owner.query(
    `update pb.keys set name = 'zoe private laptop', external_id = 'zoe-key', allowed_ips = '{192.0.2.7}' where id = $1`,
    [keyId],
  );
  await db.owner.query(
    `insert into pb.budgets (id, wallet_id, mode, name, external_id, amount_micros)
     values (gen_random_uuid(), $1, 'live', 'zoe private trip', 'zoe-budget', 1)`,
    [walletId],
  );
  await db.owner.query("update pb.wallets set alert_email = 'zoe@alerts.test', low_balance_micros = 1 where id = $1", [
    walletId,
  ]);
  await db.owner.query(
    `insert into pb.webhook_endpoints (id, wallet_id, url, description, events, secret)
     values (gen_random_uuid(), $1, 'https://zoe.test/', '', '{key.revoked}', 'x')`,
    [walletId],
  );
  await db.owner.query("insert into pb.payment_customers (wallet_id, customer_id) values ($1, 'cus_zoe')", [walletId]);
  const hold = { searchId: randomUUIDv7(), walletId, keyId };
  await holdBatch(db.ledger, [hold]);
  await captureBatch(db.ledger, [hold]);

  assert.deepEqual(await deleteAccount(db.owner, { operator: "test", reason: "a test" }, accountId, false), {
    outcome: "money_left",
    balance: 490_000n,
  });
  const pending = { ...hold, searchId: randomUUIDv7() };
  await holdBatch(db.ledger, [pending]);
  assert.deepEqual(await deleteAccount(db.owner, { operator: "test", reason: "a test" }, accountId, true), {
    outcome: "searches_in_flight",
    balance: 10_000n,
  });
  await releaseBatch(db.ledger, [pending]);
  assert.equal((await listMembers(db.owner, accountId)).length, 2, "nothing was deleted");
  assert.deepEqual(await deleteAccount(db.owner, { operator: "test", reason: "a test" }, accountId, true), {
    outcome: "deleted",
  });
  assert.deepEqual(await deleteAccount(db.owner, { operator: "test", reason: "a test" }, accountId, true), {
    outcome: "not_found",
  });

  const [refused] = await holdBatch(db.ledger, [{ searchId: randomUUIDv7(), walletId, keyId }]);
  assert.equal(refused?.outcome, "api_key_revoked");
  const { rows: keys } = await db.owner.query(
    "select distinct revoked_reason, name, allowed_ips from pb.keys where wallet_id = $1",
    [walletId],
  );
  assert.deepEqual(keys, [{ revoked_reason: "account_deleted", name: "", allowed_ips: null }]);
  const { rows: transfers } = await db.owner.query("select from pb.transfers where wallet_id = $1", [walletId]);
  assert.equal(transfers.length, 3, "the trial, the search and the balance that was forfeited");
  assert.equal((await readWallet(db.owner, walletId))?.balance, 0n);
  await assertBooksBalance(db);
  for (const text of ["zoe", "xi.private", "192.0.2.7"]) assert.deepEqual(await tablesContaining(text), [], text);
  assert.deepEqual(await tablesContaining("yan.private"), ["people"], "a member of another account is kept");
  assert.equal((await listMembers(db.owner, elsewhere.accountId)).length, 1);
});

/** Names of the tables that contain a text. */
async function tablesContaining(text: string): Promise<string[]> {
  const { rows } = await db.owner.query<{ name: string }>(
    "select relname as name from pg_class where relnamespace = 'pb'::regnamespace and relkind = 'r' order by relname",
  );
  const found: string[] = [];
  for (const { name } of rows) {
    const sql = `select from pb.${name} t where t::text ilike $1 limit 1`;
    if ((await db.owner.query(sql, [`%${text}%`])).rowCount) found.push(name);
  }
  return found;
}
