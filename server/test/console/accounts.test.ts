import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { after, test } from "node:test";
import { deleteAccount } from "../../src/accounts/accounts.ts";
import { deleteExpiredSignIns } from "../../src/console/console.ts";
import { digestToken } from "../../src/lib/token.ts";
import { formatReport, reconcile, setTrialTerms } from "../../src/wallet/wallet.ts";
import { until } from "../support/assertions/until.ts";
import { type Browser, createConsoleFixture, makeStale, someone } from "../support/console-fixture.ts";
import { testAct } from "../support/data/test-act.ts";
import { type Reply, startTestServer } from "../support/services/server.ts";

// Sign-up, membership changes and account deletion, and their immediate effect on sessions.

const signUp = { PENNYBLACK_SIGN_UP: "open" };
const fixture = await createConsoleFixture(signUp);
const { db, server } = fixture;
await setTrialTerms(db.owner, { amount: 500_000n, maxPerDay: 1_000 }, testAct);
after(() => fixture.close());

/** A new person who has signed in but has no account yet. */
async function arrive(email: string): Promise<Browser> {
  await db.owner.query("select pb.find_or_create_person($1, '')", [email]);
  return fixture.signIn(email);
}

async function personOf(browser: Browser): Promise<string> {
  return (await browser.get("session")).body.person.id;
}

function open(browser: Browser, name: string): Promise<Reply> {
  return browser.send("POST", "accounts", { account_name: name, person_name: "Grace" });
}

test("a new person has no wallet, and opens an account with a trial and no keys", async () => {
  const email = someone("grace");
  const browser = await arrive(email);
  const { body: before } = await browser.get("session");
  assert.deepEqual([before.wallets, before.sign_in.sign_up], [[], true]);
  const { status, body } = await open(browser, "  Grace & Co ");
  assert.equal(status, 201);
  const [wallet] = body.wallets;
  assert.deepEqual([wallet.name, wallet.account_name, wallet.role], ["Grace & Co", "Grace & Co", "owner"]);
  assert.equal(body.person.name, "Grace");
  assert.equal((await browser.get(`wallets/${wallet.id}/wallet`)).body.balance, "0.50");
  assert.deepEqual((await browser.get(`wallets/${wallet.id}/keys`)).body.keys, []);
  const second = await open(browser, "Another");
  const id = second.body.wallets[1].id;
  assert.equal((await browser.get(`wallets/${id}/wallet`)).body.balance, "0.00", "one trial per person");
  const report = await reconcile(db.owner);
  assert.ok(report.isClean, formatReport(report));
});

test("a person owns at most ten accounts, even with concurrent requests", async () => {
  const browser = await arrive(someone("many"));
  for (let count = 0; count < 9; count += 1) assert.equal((await open(browser, `Account ${count}`)).status, 201);
  const tenth = await db.people.connect();
  await tenth.query("begin");
  const call = "select pb.open_own_account($1, '', 'The tenth', $2, null, null) as outcome";
  const { rows } = await tenth.query(call, [digestToken(browser.token()), randomUUIDv7()]);
  assert.deepEqual(rows, [{ outcome: "done" }]);
  const eleventh = open(browser, "The eleventh");
  try {
    await until("the eleventh waits for the tenth", async () => {
      const waiting = await db.owner.query("select from pg_locks where not granted");
      return (waiting.rowCount ?? 0) > 0;
    });
  } finally {
    await tenth.query("commit");
    tenth.release();
  }
  assert.equal((await eleventh).body.code, "sign_up_closed");
  assert.equal((await browser.get("session")).body.wallets.length, 10);
});

test("opening an account requires a name and a session", async () => {
  const browser = await arrive(someone("strict"));
  for (const body of [
    { account_name: " ", person_name: "" },
    { account_name: "A\nB", person_name: "" },
    { account_name: "A" },
  ])
    assert.equal((await browser.send("POST", "accounts", body)).body.code, "invalid_request", JSON.stringify(body));
  assert.equal((await open(fixture.openBrowser(), "Anonymous")).body.code, "session_required");
});

test("names of accounts and people contain no web address and no control character", async () => {
  const browser = await arrive(someone("names"));
  const links = [
    "Verify your card at https://evil.test/fix",
    "ftp://evil.test",
    "WWW.evil.test",
    "Verify at evil.test/fix now",
    "evil.test/",
  ];
  const controls = ["A\u0085B", "A\u2028B", "A\u202eB"];
  for (const name of [...links, ...controls]) {
    for (const body of [
      { account_name: name, person_name: "" },
      { account_name: "A", person_name: name },
    ]) {
      const { status, body: problem } = await browser.send("POST", "accounts", body);
      assert.deepEqual([status, problem.code], [400, "invalid_request"], JSON.stringify(body));
    }
    const token = "x".repeat(43);
    const accepted = await browser.send("POST", "invitations/accept", { token, name });
    const accepting = await browser.send("POST", `invitations/${randomUUIDv7()}/accept`, { name });
    for (const { body } of [accepted, accepting]) assert.equal(body.code, "invalid_request", name);
  }
  for (const name of [
    "Booking.com",
    "R/D",
    "AT&T",
    "Acme Inc./Labs",
    "Müller & Söhne (24/7)",
    "a: b // c",
    "\u682a\u5f0f",
  ]) {
    assert.equal((await open(browser, name)).status, 201, name);
  }
});

test("removing a member or changing a role takes effect on the next request", async () => {
  const [owner, developer] = [someone("owner"), someone("developer")];
  const { walletId, accountId } = await fixture.openAccount(owner);
  const personId = await fixture.addMember(accountId, developer, "developer");
  const [boss, worker] = [await fixture.signIn(owner), await fixture.signIn(developer)];
  const alerts = () => worker.send("PUT", `wallets/${walletId}/wallet/alerts`, { low_balance: "1.00", email: null });
  assert.equal((await alerts()).status, 200);
  const member = `wallets/${walletId}/members/${personId}`;
  assert.equal((await boss.send("PATCH", member, { role: "viewer" })).status, 204);
  assert.equal((await alerts()).body.code, "insufficient_role");
  assert.equal((await worker.get(`wallets/${walletId}/keys`)).status, 200);
  assert.equal((await boss.send("DELETE", member)).status, 204);
  assert.equal((await worker.get(`wallets/${walletId}/keys`)).status, 404);
  const { body } = await worker.get("session");
  assert.deepEqual([body.person.email, body.wallets], [developer, []], "still signed in, without wallets");
  assert.equal((await boss.send("DELETE", member)).status, 404);
  assert.equal((await boss.send("DELETE", `wallets/${walletId}/members/${randomUUIDv7()}`)).status, 404);
});

test("an owner can leave only if another owner remains", async () => {
  const [first, second] = [someone("first"), someone("second")];
  const { walletId, accountId } = await fixture.openAccount(first);
  const browser = await fixture.signIn(first);
  const own = `wallets/${walletId}/members/${await personOf(browser)}`;
  assert.deepEqual((await browser.send("DELETE", own)).body.code, "last_owner");
  assert.deepEqual((await browser.send("PATCH", own, { role: "viewer" })).body.code, "last_owner");
  await fixture.addMember(accountId, second, "owner");
  assert.equal((await browser.send("DELETE", own)).status, 204);
  assert.equal((await browser.get(`wallets/${walletId}/members`)).status, 404);
});

test("the database changes the team only for an owner's fresh session", async () => {
  const [owner, developer, stranger] = [someone("owner"), someone("developer"), someone("stranger")];
  const { walletId, accountId } = await fixture.openAccount(owner);
  const personId = await fixture.addMember(accountId, developer, "developer");
  await fixture.openAccount(stranger);
  const digestOf = async (email: string): Promise<Buffer> => {
    await fixture.signIn(email);
    const { rows } = await db.owner.query<{ digest: Buffer }>(
      "select digest from pb.sessions s join pb.people p on p.id = s.person_id where p.email = $1",
      [email],
    );
    return rows[0]?.digest ?? assert.fail();
  };
  const change = async (digest: Buffer): Promise<string> => {
    const { rows } = await db.people.query<{ outcome: string }>(
      "select pb.change_team($1, $2, $3, 'viewer') as outcome",
      [digest, walletId, personId],
    );
    return rows[0]?.outcome ?? "";
  };
  const digest = await digestOf(owner);
  assert.equal(await change(await digestOf(developer)), "insufficient_role");
  assert.equal(await change(await digestOf(stranger)), "not_found");
  assert.equal(await change(Buffer.alloc(32)), "session_required");
  await makeStale(db, owner);
  assert.equal(await change(digest), "reauthentication_required");
  await db.owner.query(
    "update pb.sessions set authenticated_at = clock_timestamp(), seen_at = clock_timestamp() - interval '7 days' where digest = $1",
    [digest],
  );
  assert.equal(await change(digest), "session_required");
  await db.owner.query("update pb.sessions set seen_at = clock_timestamp() where digest = $1", [digest]);
  assert.equal(await change(digest), "done");
});

test("deleting an account also deletes its people's sessions and sign-in links", async () => {
  const email = someone("leaving");
  const { walletId, accountId } = await fixture.openAccount(email);
  const browser = await fixture.signIn(email);
  await deleteAccount(db.owner, { operator: "test", reason: "a test" }, accountId, true);
  assert.equal((await browser.get(`wallets/${walletId}/wallet`)).body.code, "session_required");
  assert.equal((await browser.get("session")).body.person, null);
  for (const table of ["people", "sign_in_tokens", "sessions", "pending_emails", "members"]) {
    const { rowCount } = await db.owner.query(`select from pb.${table} t where t::text ilike $1`, [`%${email}%`]);
    assert.equal(rowCount, 0, table);
  }
});

test("the worker deletes expired tokens, sessions, and people without an account after 30 days", async () => {
  const [gone, member] = [someone("gone"), someone("member")];
  await arrive(gone);
  await fixture.openAccount(member);
  await fixture.signIn(member);
  await db.owner.query("update pb.people set created_at = clock_timestamp() - interval '31 days'");
  assert.equal(await deleteExpiredSignIns(db.owner, 100), 0, "people with a session are kept");
  await db.owner.query("update pb.sessions set seen_at = clock_timestamp() - interval '8 days'");
  await db.owner.query("update pb.sign_in_tokens set expires_at = clock_timestamp() - interval '25 hours'");
  assert.ok((await deleteExpiredSignIns(db.owner, 100)) > 0);
  const counts = await db.owner.query(
    `select (select count(*)::int from pb.sessions) as sessions, (select count(*)::int from pb.sign_in_tokens) as tokens,
       array(select email from pb.people where email in ($1, $2)) as people`,
    [gone, member],
  );
  assert.deepEqual(counts.rows, [{ sessions: 0, tokens: 0, people: [member] }]);
});

test("without its database role the server runs without the console", async () => {
  const bare = await startTestServer(db, { PENNYBLACK_PEOPLE_DATABASE_URL: "" });
  try {
    assert.equal((await bare.request("/console/api/session")).status, 404);
    assert.equal((await bare.request("/v1/lenses")).status, 200);
  } finally {
    await bare.close();
  }
  assert.equal((await server.request("/console/api/session")).status, 200);
});
