import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createPool } from "../../src/db/pool.ts";
import { readRoots } from "../../src/evidence/roots-folder.ts";
import { readSignedRoots } from "../../src/evidence/signed-roots.ts";
import { verifyLedger } from "../../src/evidence/verify-ledger.ts";
import { seedChange } from "../support/data/seed-change.ts";
import { createTestDatabase } from "../support/services/database.ts";
import { type BeforeClosing, seedSignedLedger } from "./seed-ledger.ts";

// The list of changes, approvers and reasons are part of the signed roots.

const db = await createTestDatabase();
const superuser = createPool({ url: db.superuserUrl, name: "attacker", connections: 1, onIdleError: () => undefined });
after(async () => {
  await superuser.end();
  await db.drop();
});

const insertRecords: BeforeClosing = async ([wallet], endMs) => {
  const hoursBefore = (hours: number): Date => new Date(endMs - hours * 3_600_000 + 1_234);
  // As an owner sees it in the activity log.
  await seedChange(db.owner, {
    act: "key.change",
    at: hoursBefore(7),
    walletId: wallet?.walletId,
    subject: "changed-by-a-member",
    personId: "7a2c3f7e-6f0c-4c55-8b3e-d0a1f6f4b001",
    before: { budget_day: "1.00" },
    after: { budget_day: "5.00" },
  });
  // Before the first closed hour, in an hour without entries, and twice in an hour with entries.
  for (const hours of [1_000, 23, 3, 3]) {
    const details = { act: "adjustment.request", reason: 'Größe: 10 "USD"', after: { amount: "10.00", note: "ß" } };
    await seedChange(db.owner, {
      ...details,
      at: hoursBefore(hours),
      walletId: wallet?.walletId,
      subject: `manual:${hours}`,
    });
  }
  await db.owner.query(
    `insert into pb.adjustments (kind, reference, wallet_id, amount_micros, limit_micros, state, reason, operator, approver, requested_at, decided_at)
     values ('payout', 'p-1', $1, 200000000, 100000000, 'rejected', 'closing the account', 'alice', 'bob', $2, $3)`,
    [wallet?.walletId, hoursBefore(12), hoursBefore(4)],
  );
};

const { folder, signer, hours, wallets } = await seedSignedLedger(db, insertRecords);

/** Verifies with a change by an attacker who controls the database, and undoes the change. */
async function verifyWith(change: string): Promise<string[]> {
  const client = await superuser.connect();
  try {
    await client.query("begin; set local session_replication_role = replica");
    await client.query(change);
    const found: string[] = [];
    await verifyLedger({
      inTransaction: (work) => work(client),
      roots: await readSignedRoots(readRoots(folder), signer.jwks),
      onDifference: ({ what, of }) => found.push(`${what} ${of}`),
    });
    return found;
  } finally {
    await client.query("rollback").finally(() => client.release());
  }
}

/** The closed hour, counted from the last one, which is 1. */
const hour = (last: number): string => hours.at(-last) ?? "";

test("records as they were written verify", async () => {
  assert.deepEqual(await verifyWith("select"), []);
  const { rows } = await db.owner.query(
    "select count(distinct records_digest)::int as digests from pb.ledger_hours where records_digest <> decode(repeat('00', 32), 'hex')",
  );
  assert.deepEqual(rows, [{ digests: 5 }]);
});

for (const [table, where, of, changes] of [
  [
    "changes",
    "subject = 'manual:23'",
    hour(23),
    "operator = 'bob'; operator = null, actor = 'system'; act = 'search.refund'; wallet_id = null; subject = 'x'; reason = 'x'; outcome = 'x'; visibility = 'owner', account_id = gen_random_uuid(); at = at + interval '1 s'",
  ],
  ["changes", "subject = 'manual:1000'", hours[0] ?? "", "reason = 'x'"],
  ["changes", "number = (select max(number) from pb.changes)", hour(3), "reason = 'x'; id = gen_random_uuid()"],
  [
    "changes",
    "subject = 'changed-by-a-member'",
    hour(7),
    `actor_id = gen_random_uuid(); before = '{"budget_day": "4.00"}'; after = '{"budget_day": "1.50"}'; act = 'key.create'; visibility = 'operator'`,
  ],
  [
    "adjustments",
    "true",
    hour(4),
    "approver = 'carol'; approver = null; operator = 'dave'; reason = 'x'; reference = 'x'; amount_micros = 1; limit_micros = 1; kind = 'breakage'; requested_at = now()",
  ],
] as const) {
  const name = `${table} where ${where}`;
  test(`${name}: a change or removal of a row is reported`, async () => {
    for (const change of changes.split("; "))
      assert.deepEqual(await verifyWith(`update pb.${table} set ${change} where ${where}`), [`records ${of}`], change);
    assert.deepEqual(await verifyWith(`delete from pb.${table} where ${where}`), [`records ${of}`]);
  });
}

test("a change of the values before and after is reported, even if their digest is changed with them", async () => {
  const where = "where subject = 'manual:23'";
  for (const change of [
    `after = '{"amount": "99.00"}'`,
    `before = '{"amount": "1.00"}'`,
    "salt = decode(repeat('00', 16), 'hex')",
    "after = null, salt = null",
    "values_digest = sha256('x')",
    `after = '{"amount": "99.00"}', values_digest = pb.values_digest(salt, null, '{"amount": "99.00"}')`,
  ])
    assert.deepEqual(await verifyWith(`update pb.changes set ${change} ${where}`), [`records ${hour(23)}`], change);
});

test("the values of a deleted account can be erased, but not replaced or added", async () => {
  const { walletId } = wallets[0] ?? assert.fail();
  const own = `from pb.wallets w where w.id = '${walletId}' and w.id = c.wallet_id`;
  const erase = `
    update pb.accounts set deleted_at = now(), name = '' where id = (select account_id from pb.wallets where id = '${walletId}');
    update pb.changes c set before = null, after = null, salt = null ${own} and c.account_id = w.account_id`;
  assert.deepEqual(await verifyWith(erase), []);
  const replaced = await verifyWith(
    `${erase}; update pb.changes set after = '{"amount": "99.00"}' where subject = 'manual:23'`,
  );
  assert.deepEqual(replaced, [`records ${hour(23)}`]);
});

test("a row that was added to a closed hour is reported", async () => {
  const change = `insert into pb.changes (at, actor, operator, act, subject, outcome, visibility)
    values (timestamptz '${hour(5)}' + interval '1 minute', 'operator', 'alice', 'key.revoke', 'x', 'done', 'operator')`;
  assert.deepEqual(await verifyWith(change), [`records ${hour(5)}`]);
});

test("recomputing the digests after a change contradicts the signed roots", async () => {
  const found = await verifyWith(
    `update pb.changes set reason = 'x' where subject = 'manual:3';
     update pb.ledger_hours set records_digest = pb.records_digest(hour) where hour = '${hour(3)}'`,
  );
  assert.ok(found.includes(`root ${hour(3)}`), found.join());
});

test("a row is never written into a closed hour, even if the clock is behind", async () => {
  const { rows } = await db.owner.query<{ isOpen: boolean }>(
    `with row as (
       insert into pb.changes (at, actor, operator, act, subject, outcome, visibility)
       values (timestamptz '${hour(5)}', 'operator', 'alice', 'key.revoke', 'late', 'done', 'operator') returning at
     )
     select at >= closed_before as "isOpen" from row, pb.ledger_watermark`,
  );
  assert.deepEqual(rows, [{ isOpen: true }]);
  assert.deepEqual(await verifyWith("select"), []);
});
