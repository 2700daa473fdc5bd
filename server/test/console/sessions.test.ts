import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { after, test } from "node:test";
import { type Browser, createConsoleFixture, makeToken, someone } from "../support/console-fixture.ts";

// Sessions, from the sign-in link to their end.

const fixture = await createConsoleFixture();
const { db, server } = fixture;
after(() => fixture.close());

test("without a session, GET session returns only the server's features", async () => {
  const { status, body } = await fixture.openBrowser().get("session");
  assert.equal(status, 200);
  assert.deepEqual(body, {
    person: null,
    fresh_until: null,
    wallets: [],
    sign_in: { email: false, oidc: null, sign_up: false },
    features: { payments: false, mail: false },
    top_up: { minimum: "5.00", maximum: "1000.00" },
    public_url: "http://search.test",
  });
});

test("a link signs in once, and only digests of the link and session are stored", async () => {
  const email = someone("ada");
  const { accountId, walletId } = await fixture.openAccount(email);
  const token = await makeToken(db, email);
  const browser = fixture.openBrowser();
  const { status, body, headers } = await browser.send("POST", "sign-in/token", { token });
  assert.equal(status, 200);
  assert.equal(body.person.email, email);
  assert.deepEqual(body.wallets, [
    {
      id: walletId,
      name: `Account of ${email}`,
      account_id: accountId,
      account_name: `Account of ${email}`,
      role: "owner",
      suspended: false,
    },
  ]);
  const freshMs = Date.parse(body.fresh_until) - Date.now();
  assert.ok(freshMs > 14 * 60_000 && freshMs <= 15 * 60_000, body.fresh_until);
  assert.match(
    headers.get("set-cookie") ?? "",
    /^pennyblack=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/,
  );
  assert.deepEqual((await browser.get("session")).body, body);

  const again = await fixture.openBrowser().send("POST", "sign-in/token", { token });
  assert.deepEqual([again.status, again.body.code, again.headers.get("set-cookie")], [400, "link_not_valid", null]);
  const stored = await db.owner.query("select t::text || s::text as row from pb.sign_in_tokens t, pb.sessions s");
  for (const secret of [token, browser.token()]) {
    for (const { row } of stored.rows)
      assert.ok(!row.includes(Buffer.from(secret).toString("hex")) && !row.includes(secret));
    assert.ok(stored.rows.some(({ row }) => row.includes(hash("sha256", secret, "hex"))));
    assert.ok(!server.logged().includes(secret), "a token was logged");
  }
});

async function isSignedIn(browser: Browser): Promise<boolean> {
  return (await browser.get("session")).body.person !== null;
}

async function age(column: "created_at" | "seen_at", email: string, interval: string): Promise<void> {
  await db.owner.query(
    `update pb.sessions set ${column} = clock_timestamp() - $2::interval
     where person_id = (select id from pb.people where email = $1)`,
    [email, interval],
  );
}

test("a session expires after 30 days, or 7 days without a visit", async () => {
  for (const [column, alive, over] of [
    ["created_at", "29 days 23 hours", "30 days"],
    ["seen_at", "6 days 23 hours", "7 days"],
  ] as const) {
    const email = someone("ada");
    const { walletId } = await fixture.openAccount(email);
    const browser = await fixture.signIn(email);
    await age(column, email, alive);
    assert.equal(await isSignedIn(browser), true);
    await age(column, email, over);
    assert.equal(await isSignedIn(browser), false);
    assert.equal((await browser.get(`wallets/${walletId}/wallet`)).body.code, "session_required");
  }
});

test("each visit extends the session", async () => {
  const email = someone("regular");
  const { walletId } = await fixture.openAccount(email);
  const browser = await fixture.signIn(email);
  for (const visit of ["session", `wallets/${walletId}/wallet`]) {
    await age("seen_at", email, "6 days");
    assert.equal((await browser.get(visit)).status, 200);
    const { rows } = await db.owner.query<{ isNew: boolean }>(
      `select seen_at > clock_timestamp() - interval '1 minute' as "isNew" from pb.sessions s
       join pb.people p on p.id = s.person_id where p.email = $1`,
      [email],
    );
    assert.deepEqual(rows, [{ isNew: true }]);
  }
});

test("signing out ends this session, or all sessions", async () => {
  const [email, other] = [someone("ada"), someone("other")];
  for (const each of [email, other]) await fixture.openAccount(each);
  const [first, second, third] = [
    await fixture.signIn(email),
    await fixture.signIn(email),
    await fixture.signIn(email),
  ];
  const stranger = await fixture.signIn(other);
  const token = first.token();
  const reply = await first.send("POST", "sign-out");
  assert.equal(reply.status, 204);
  assert.match(reply.headers.get("set-cookie") ?? "", /^pennyblack=; Max-Age=0; Path=\/; HttpOnly/);
  first.cookies.set("pennyblack", token);
  assert.deepEqual(
    [await isSignedIn(first), await isSignedIn(second)],
    [false, true],
    "the old cookie is no longer valid",
  );
  assert.equal((await second.send("POST", "sign-out/everywhere")).status, 204);
  assert.equal(await isSignedIn(third), false);
  assert.equal(await isSignedIn(stranger), true);
  assert.equal((await fixture.openBrowser().send("POST", "sign-out")).status, 204);
});

test("a new sign-in replaces the browser's previous session", async () => {
  const email = someone("ada");
  await fixture.openAccount(email);
  const [browser, elsewhere] = [await fixture.signIn(email), await fixture.signIn(email)];
  const old = browser.token();
  await browser.send("POST", "sign-in/token", { token: await makeToken(db, email) });
  assert.notEqual(browser.token(), old);
  const thief = fixture.openBrowser();
  thief.cookies.set("pennyblack", old);
  assert.deepEqual(
    [await isSignedIn(thief), await isSignedIn(browser), await isSignedIn(elsewhere)],
    [false, true, true],
  );
});

test("concurrent uses of one link sign in only once", async () => {
  const email = someone("race");
  await fixture.openAccount(email);
  const token = await makeToken(db, email);
  const attempts = Array.from({ length: 8 }, () => fixture.openBrowser().send("POST", "sign-in/token", { token }));
  const statuses = (await Promise.all(attempts)).map(({ status }) => status);
  assert.deepEqual(
    statuses.toSorted((left, right) => left - right),
    [200, ...Array.from({ length: 7 }, () => 400)],
  );
});

test("ignores duplicate and malformed cookies", async () => {
  const email = someone("ada");
  await fixture.openAccount(email);
  const browser = await fixture.signIn(email);
  const token = browser.token();
  for (const cookie of [
    `pennyblack=${token}; pennyblack=${"x".repeat(43)}`,
    `pennyblack="${token}"`,
    `Pennyblack=${token}`,
  ]) {
    const { body } = await server.request("/console/api/session", { headers: { cookie } });
    assert.equal(body.person, null, cookie.replace(token, "..."));
  }
});

test("on HTTPS the cookie is bound to the host and to TLS", async () => {
  const secure = await createConsoleFixture({ PENNYBLACK_PUBLIC_URL: "https://search.test" });
  try {
    const email = someone("ada");
    await secure.openAccount(email);
    const browser = secure.openBrowser();
    const token = await makeToken(secure.db, email);
    const { headers } = await browser.send("POST", "sign-in/token", { token }, { origin: "https://search.test" });
    assert.match(
      headers.get("set-cookie") ?? "",
      /^__Host-pennyblack=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
    );
    assert.equal((await browser.get("session")).body.person.email, email);
  } finally {
    await secure.close();
  }
});
