import assert from "node:assert/strict";
import { randomBytes, randomUUIDv7 } from "node:crypto";
import { after, test } from "node:test";
import { callAsTenant } from "../../src/db/as-tenant.ts";
import { until } from "../support/assertions/until.ts";
import { createConsoleFixture, makeStale, someone } from "../support/console-fixture.ts";
import { startHostileUpstream } from "../support/upstreams/hostile-upstream.ts";

// Managing keys from the console, and limits of a stolen session.

const upstream = await startHostileUpstream();
const fixture = await createConsoleFixture({ PENNYBLACK_SEARXNG_URL: upstream.url });
const { db, server } = fixture;

after(async () => {
  await fixture.close();
  await upstream.close();
});

/** Calls the database function directly, bypassing the server's checks. */
async function mint(walletId: string, actor: string): Promise<string> {
  const parts = { name: "minted", scopes: ["search"], searches_per_second: 1, searches_in_flight: 1 };
  const values = [actor, randomUUIDv7(), "live", "pb_live_", 1, randomBytes(32), JSON.stringify(parts)];
  return callAsTenant(db.tenant, walletId, "pb.create_own_key($2, $3, $4, $5, $6, $7, $8)", values);
}

async function rotate(walletId: string, actor: string, key: string): Promise<string> {
  const values = [actor, key, randomUUIDv7(), "pb_live_", 1, randomBytes(32), 60];
  return callAsTenant(db.tenant, walletId, "pb.rotate_own_key($2, $3, $4, $5, $6, $7, $8)", values);
}

async function sessionOf(email: string): Promise<string> {
  const { rows } = await db.owner.query<{ id: string }>(
    `select s.id from pb.sessions s join pb.people p on p.id = s.person_id where p.email = $1`,
    [email],
  );
  return rows[0]?.id ?? assert.fail("no session");
}

async function countKeys(walletId: string): Promise<number> {
  const { rowCount } = await db.owner.query("select from pb.keys where wallet_id = $1", [walletId]);
  return rowCount ?? 0;
}

test("a developer creates, edits, rotates and revokes keys, and each secret is shown once", async () => {
  const email = someone("maker");
  const { walletId } = await fixture.openAccount(email);
  const browser = await fixture.signIn(email);
  const keys = `wallets/${walletId}/keys`;
  const made = await browser.send("POST", keys, { mode: "live", name: "agent", budget: { day: "1.00" } });
  assert.equal(made.status, 200, made.text);
  assert.match(made.body.key, /^pb_live_/);
  assert.equal((await server.search(made.body.key, { query: "cats" })).status, 200);
  const changed = await browser.send("PATCH", `${keys}/${made.body.id}`, { name: "agent 2" });
  assert.equal(changed.body.name, "agent 2");
  const rotated = await browser.send("POST", `${keys}/${made.body.id}/rotate`, { grace_seconds: 0 });
  assert.match(rotated.body.key, /^pb_live_/);
  const revoked = await browser.send("DELETE", `${keys}/${rotated.body.id}`);
  assert.equal(revoked.body.state, "revoked");
  const management = await browser.send("POST", keys, { mode: "mgmt", name: "robot" });
  assert.deepEqual(management.body.scopes, [
    "wallet:read",
    "wallet:write",
    "keys:write",
    "webhooks:write",
    "activity:read",
  ]);
  for (const reply of [changed, revoked, await browser.get(keys), await browser.get(`${keys}/${made.body.id}`)]) {
    assert.equal(reply.status, 200);
    for (const secret of [made.body.key, rotated.body.key]) assert.ok(!reply.text.includes(secret));
  }
});

test("a stale session cannot create a key, through the server or directly in the database", async () => {
  const email = someone("victim");
  const { walletId } = await fixture.openAccount(email);
  const browser = await fixture.signIn(email);
  const keys = `wallets/${walletId}/keys`;
  const { body: own } = await browser.send("POST", keys, { mode: "live", name: "own" });
  const session = await sessionOf(email);
  await makeStale(db, email);
  const before = await countKeys(walletId);

  for (const [path, body] of [
    [keys, { mode: "live", name: "thief's" }],
    [`${keys}/${own.id}/rotate`, { grace_seconds: 0 }],
  ] as const) {
    const { status, body: problem } = await browser.send("POST", path, body);
    assert.deepEqual([status, problem.code], [403, "reauthentication_required"]);
  }
  assert.equal(await mint(walletId, session), "reauthentication_required");
  assert.equal(await rotate(walletId, session, own.id), "reauthentication_required");
  assert.equal(await countKeys(walletId), before);
  // Removing access does not need a fresh sign-in.
  assert.equal((await browser.send("DELETE", `${keys}/${own.id}`)).status, 200);

  const again = await fixture.signIn(email);
  assert.equal((await again.send("POST", keys, { mode: "live", name: "mine" })).status, 200);
  assert.equal(
    (await browser.send("POST", keys, { mode: "live", name: "thief's" })).status,
    403,
    "only the new session",
  );
});

test("the database rejects expired sessions, strangers, viewers and suspended wallets", async () => {
  const [owner, stranger, viewer] = [someone("owner"), someone("stranger"), someone("viewer")];
  const { walletId, accountId } = await fixture.openAccount(owner);
  await fixture.openAccount(stranger);
  await fixture.addMember(accountId, viewer, "viewer");
  for (const email of [owner, stranger, viewer]) await fixture.signIn(email);
  const before = await countKeys(walletId);
  assert.equal(await mint(walletId, await sessionOf(stranger)), "insufficient_role");
  assert.equal(await mint(walletId, await sessionOf(viewer)), "insufficient_role");
  assert.equal(await mint(walletId, randomUUIDv7()), "api_key_invalid");
  const session = await sessionOf(owner);
  await db.owner.query("select pb.suspend_wallet($1, true)", [walletId]);
  assert.equal(await mint(walletId, session), "account_suspended");
  await db.owner.query("select pb.suspend_wallet($1, false)", [walletId]);
  for (const [column, age] of [
    ["created_at", "30 days"],
    ["seen_at", "7 days"],
  ]) {
    const was = await db.owner.query(`select ${column} as at from pb.sessions where id = $1`, [session]);
    await db.owner.query(`update pb.sessions set ${column} = clock_timestamp() - $2::interval where id = $1`, [
      session,
      age,
    ]);
    assert.equal(await mint(walletId, session), "session_required");
    await db.owner.query(`update pb.sessions set ${column} = $2 where id = $1`, [session, was.rows[0].at]);
  }
  assert.equal(await countKeys(walletId), before);
  assert.equal(await mint(walletId, session), "done");
});

test("a key created while its member is being removed commits first or not at all", async () => {
  const [owner, developer] = [someone("owner"), someone("developer")];
  const { walletId, accountId } = await fixture.openAccount(owner);
  const personId = await fixture.addMember(accountId, developer, "developer");
  await fixture.signIn(developer);
  const session = await sessionOf(developer);
  const client = await db.tenant.connect();
  await client.query("begin");
  await client.query("select set_config('pb.wallet_id', $1, true)", [walletId]);
  const parts = { name: "first", scopes: ["search"], searches_per_second: 1, searches_in_flight: 1 };
  const values = [session, randomUUIDv7(), "live", "pb_live_", 1, randomBytes(32), JSON.stringify(parts)];
  await client.query("select pb.create_own_key($1, $2, $3, $4, $5, $6, $7)", values);
  let isRemoved = false;
  const removal = db.owner
    .query("select pb.change_member($1, $2, null)", [accountId, personId])
    .then(() => (isRemoved = true));
  try {
    await until("the removal waits for the key", async () => {
      const waiting = await db.owner.query("select from pg_locks where not granted");
      return (waiting.rowCount ?? 0) > 0;
    });
    assert.equal(isRemoved, false);
  } finally {
    await client.query("commit");
    client.release();
  }
  await removal;
  assert.equal(await mint(walletId, session), "insufficient_role");

  // An uncommitted removal already blocks the member, without waiting under the wallet's lock.
  await fixture.addMember(accountId, developer, "developer");
  const leaving = await db.owner.connect();
  await leaving.query("begin");
  await leaving.query("select pb.change_member($1, $2, null)", [accountId, personId]);
  assert.equal(await mint(walletId, session), "insufficient_role");
  await leaving.query("rollback");
  leaving.release();
  assert.equal(await mint(walletId, session), "done");
});
