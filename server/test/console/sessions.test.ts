import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { after, test } from "node:test";
import { createConsoleWorld, makeToken, someone } from "../console-world.ts";

// Who is signed in, from the link to the end of the session.

const world = await createConsoleWorld();
const { db, server } = world;
after(() => world.close());

test("without a session the console says so, and what this installation can do", async () => {
  const { status, body } = await world.openBrowser().get("session");
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

test("a link signs its person in once, and only the digests of link and session are kept", async () => {
  const email = someone("ada");
  const { accountId, walletId } = await world.openAccount(email);
  const token = await makeToken(db, email);
  const browser = world.openBrowser();
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

  const again = await world.openBrowser().send("POST", "sign-in/token", { token });
  assert.deepEqual([again.status, again.body.code, again.headers.get("set-cookie")], [400, "link_not_valid", null]);
  const kept = await db.owner.query("select t::text || s::text as row from pb.sign_in_tokens t, pb.sessions s");
  for (const secret of [token, browser.token()]) {
    for (const { row } of kept.rows)
      assert.ok(!row.includes(Buffer.from(secret).toString("hex")) && !row.includes(secret));
    assert.ok(kept.rows.some(({ row }) => row.includes(hash("sha256", secret, "hex"))));
    assert.ok(!server.logged().includes(secret), "a token is in the log");
  }
});
