import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { DatabaseError } from "pg";
import { deleteAccount } from "../../src/accounts/accounts.ts";
import { asTenant, callAsTenant } from "../../src/db/as-tenant.ts";
import { sqlStates } from "../../src/db/sql-states.ts";
import { unavailable } from "../../src/http/unavailable.ts";
import { revokeAnyKey } from "../../src/operator/operator.ts";
import { createConsoleFixture, someone } from "../support/console-fixture.ts";
import { testAct } from "../support/data/test-act.ts";

// The list of changes: the parts that owners see, and the values that it never contains.

const fixture = await createConsoleFixture();
const { db, server } = fixture;

interface Change {
  actor: string;
  actor_id: string | null;
  act: string;
  subject: string;
  outcome: string;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
}

/** As an owner sees them, oldest first. */
function readOwn(walletId: string): Promise<Change[]> {
  return asTenant(db.tenant, walletId, async (tenant) => {
    const { rows } = await tenant.query<Change>(
      "select actor, actor_id, act, subject, outcome, before, after from pb.changes order by number",
    );
    return rows;
  });
}

const openAccount = async () => fixture.openAccount(someone("owner"));

test("an owner sees who changed a key, with the values before and after", async () => {
  const { walletId, managementKey } = await openAccount();
  const manage = (method: string, path: string, body?: object) => server.manage(managementKey, method, path, body);
  const { body: key } = await manage("POST", "/v1/keys", { mode: "live", name: "agent", budget: { day: "5.00" } });
  await manage("PATCH", `/v1/keys/${key.id}`, { name: "crawler", budget: { day: "7.50", month: "100.00" } });
  const { body: next } = await manage("POST", `/v1/keys/${key.id}/rotate`, { grace_seconds: 0 });
  await manage("DELETE", `/v1/keys/${next.id}`);
  await manage("DELETE", `/v1/keys/${next.id}`);
  const changes = (await readOwn(walletId)).filter(({ act }) => act.startsWith("key."));
  const { rows } = await db.owner.query<{ id: string }>(
    "select id from pb.keys where wallet_id = $1 and mode = 'mgmt'",
    [walletId],
  );
  for (const { actor, actor_id: id } of changes) assert.deepEqual([actor, id], ["key", rows[0]?.id]);
  const [created, changed, rotated, revoked] = changes;
  assert.deepEqual([created?.act, created?.subject, created?.before], ["key.create", key.id, null]);
  assert.deepEqual([created?.after?.["name"], created?.after?.["budget_day"]], ["agent", "5.00"]);
  assert.deepEqual(changed?.before, { name: "agent", budget_day: "5.00" });
  assert.deepEqual(changed?.after, { name: "crawler", budget_day: "7.50", budget_month: "100.00" });
  assert.deepEqual([rotated?.act, rotated?.subject], ["key.rotate", next.id]);
  assert.equal(rotated?.after?.["rotated_from"], key.id);
  assert.deepEqual([revoked?.act, revoked?.subject], ["key.revoke", next.id]);
  assert.equal(changes.length, 4, "revoking a revoked key changes nothing");
});

test("an owner sees what operators did to the account, without their names, reasons and attempts", async () => {
  const { walletId, liveKey } = await openAccount();
  const { rows } = await db.owner.query<{ id: string }>(
    "select id from pb.keys where wallet_id = $1 and starts_with($2, start)",
    [walletId, liveKey],
  );
  const keyId = rows[0]?.id ?? "";
  for (const outcome of ["revoked", "repeated"])
    assert.equal(await revokeAnyKey(db.operator, { operator: "olga", reason: "fraud?" }, keyId), outcome);
  const own = (await readOwn(walletId)).filter(({ act }) => act === "key.revoke");
  assert.deepEqual(
    own.map(({ actor, actor_id: id, subject, outcome }) => ({ actor, id, subject, outcome })),
    [{ actor: "operator", id: null, subject: keyId, outcome: "revoked" }],
  );
  for (const column of ["reason", "operator", "salt"])
    await assert.rejects(
      asTenant(db.tenant, walletId, (tenant) => tenant.query(`select ${column} from pb.changes`)),
      { code: "42501" },
    );
});

test("an owner sees no change of another account, and none that is for operators only", async () => {
  const [own, other] = [await openAccount(), await openAccount()];
  await server.manage(other.managementKey, "PUT", "/v1/wallet/alerts", { email: "x@y.example", low_balance: null });
  const seen = await readOwn(own.walletId);
  assert.ok(seen.length > 0);
  assert.ok(seen.every(({ act }) => act !== "alerts.change"));
  const { rows } = await db.owner.query<{ act: string }>(
    "select act from pb.changes where visibility = 'operator' or account_id is null",
  );
  assert.ok(rows.length > 0);
  assert.deepEqual(
    await asTenant(db.tenant, randomUUID(), (tenant) => tenant.query("select act from pb.changes")).then(
      ({ rows: none }) => none,
    ),
    [],
  );
});

test("sign-ins and changes of the team name people by their id", async () => {
  const email = someone("lead");
  const { accountId, walletId } = await fixture.openAccount(email);
  const browser = await fixture.signIn(email);
  const invited = someone("guest");
  const team = `wallets/${walletId}`;
  assert.equal((await browser.send("POST", `${team}/invitations`, { email: invited, role: "viewer" })).status, 201);
  const personId = await fixture.addMember(accountId, someone("other"), "viewer");
  assert.equal((await browser.send("PATCH", `${team}/members/${personId}`, { role: "developer" })).status, 204);
  assert.equal((await browser.send("DELETE", `${team}/members/${personId}`)).status, 204);
  await browser.send("POST", "sign-out/everywhere");
  const { rows } = await db.owner.query<{ id: string }>("select id from pb.people where email = $1", [email]);
  const changes = await readOwn(walletId);
  const byPeople = changes.filter(({ actor }) => actor === "person");
  assert.deepEqual(
    byPeople.map(({ act, actor_id: id }) => `${act} ${id === rows[0]?.id ? "by the owner" : "by the member"}`),
    [
      "session.start by the owner",
      "invitation.create by the owner",
      "member.join by the member",
      "member.change by the owner",
      "member.remove by the owner",
      "session.end_all by the owner",
    ],
  );
  const changed = byPeople.find(({ act }) => act === "member.change");
  assert.deepEqual(
    [changed?.subject, changed?.before, changed?.after],
    [personId, { role: "viewer" }, { role: "developer" }],
  );
  assert.doesNotMatch(JSON.stringify(byPeople), /@/);
});

test("no secret is recorded: neither a key in a name, nor the path of a webhook, nor its signing secret", async () => {
  const { walletId, managementKey, liveKey } = await openAccount();
  const manage = (method: string, path: string, body?: object) => server.manage(managementKey, method, path, body);
  const { body: key } = await manage("POST", "/v1/keys", { mode: "live", name: `for ${liveKey}` });
  assert.equal(typeof key.key, "string", JSON.stringify(key));
  const url = "https://hooks.example/services/T0/aPathThatIsASecret?token=alsoASecret";
  const { body: hook } = await manage("POST", "/v1/webhooks", { url });
  await manage("PATCH", `/v1/webhooks/${hook.id}`, { url: `${url}2`, description: `signed with ${hook.secret}` });
  const { body: rotated } = await manage("POST", `/v1/webhooks/${hook.id}/rotate-secret`);
  const changes = await readOwn(walletId);
  const text = JSON.stringify(changes);
  for (const secret of [
    liveKey,
    managementKey,
    key.key,
    hook.secret,
    rotated.secret,
    "aPathThatIsASecret",
    "alsoASecret",
  ])
    assert.ok(!text.includes(secret), secret);
  assert.match(text, /"name":"for pb_live_\.\.\."/);
  const changed = changes.find(({ act }) => act === "webhook.change");
  assert.deepEqual(Object.keys(changed?.after ?? {}).toSorted(), ["description", "url_digest"]);
});

test("a row that contains a key cannot be written", async () => {
  const { walletId, liveKey } = await openAccount();
  await assert.rejects(
    db.owner.query(
      `insert into pb.changes (actor, act, subject, wallet_id, outcome, after, salt, values_digest, visibility)
       values ('system', 'key.change', 'x', $1, 'done', $2, decode(repeat('00', 16), 'hex'), sha256(''), 'operator')`,
      [walletId, { name: liveKey }],
    ),
    { constraint: "no_secrets" },
  );
});

test("a change by a session that has just ended is rolled back, and the person is asked to sign in", async () => {
  const { walletId } = await openAccount();
  const change = callAsTenant(db.tenant, walletId, "pb.set_alerts($2, $3, $4)", [randomUUID(), "a@b.example", null]);
  const error = await change.catch((caught: unknown) => caught);
  assert.ok(error instanceof DatabaseError && error.code === sqlStates.sessionEnded, String(error));
  assert.throws(() => unavailable(error), { code: "session_required" });
  const { rows } = await db.owner.query("select alert_email from pb.wallets where id = $1", [walletId]);
  assert.deepEqual(rows, [{ alert_email: null }]);
});

test("the deletion of an account erases the values of its changes, and of no other", async () => {
  const [own, other] = [await openAccount(), await openAccount()];
  for (const { managementKey } of [own, other])
    await server.manage(managementKey, "PUT", "/v1/wallet/alerts", { email: "ada@private.example", low_balance: null });
  await assert.rejects(db.owner.query("update pb.changes set before = null, after = null, salt = null"), {
    code: "23001",
  });
  await deleteAccount(db.owner, testAct, own.accountId, true);
  const read = async (accountId: string) => {
    const { rows } = await db.owner.query<{ act: string; text: string }>(
      `select act, concat(before::text, after::text, encode(salt, 'hex')) as text from pb.changes
       where account_id = $1 order by number`,
      [accountId],
    );
    return rows;
  };
  const erased = await read(own.accountId);
  const last = erased.pop();
  assert.equal(last?.act, "account.delete");
  assert.deepEqual([...new Set(erased.map(({ text }) => text))], [""]);
  assert.ok(erased.some(({ act }) => act === "alerts.change"));
  assert.ok((await read(other.accountId)).some(({ text }) => text.includes("ada@private.example")));
});
