import assert from "node:assert/strict";
import { after, test } from "node:test";
import { maxAttempts, maxEmailsFromNetwork, maxEmailsTo, maxInvitations } from "../../src/console/sign-in-limits.ts";
import { createEmailSender, sendSignInEmails } from "../../src/email/email.ts";
import {
  type Browser,
  createConsoleFixture,
  makeToken,
  publicUrl,
  someone,
  tokenIn,
} from "../support/console-fixture.ts";
import { type ReceivedEmail, startMailServer } from "../support/services/mail-server.ts";
import { testSecrets } from "../support/services/server.ts";

// Sign-in links and invitations, sent to a mail server on loopback. The test runs the worker's job itself.

const mail = await startMailServer();
const from = "Pennyblack <console@search.test>";
const settings = { PENNYBLACK_SMTP_URL: mail.url, PENNYBLACK_MAIL_FROM: from };
const fixture = await createConsoleFixture(settings);
const { db, server } = fixture;
const mailer = createEmailSender({ smtpUrl: mail.url, from });

after(async () => {
  await fixture.close();
  await mail.close();
});

/** Runs the worker's job once. Returns the emails it sent and the number of failures. */
async function work(database = db): Promise<{ emails: ReceivedEmail[]; failures: number }> {
  mail.emails.length = 0;
  let failures = 0;
  const onFailure = (): void => void (failures += 1);
  await sendSignInEmails({ pool: database.worker, secrets: testSecrets, publicUrl, mailer, onFailure }, 100);
  return { emails: [...mail.emails], failures };
}

async function queued(): Promise<string[]> {
  const { rows } = await db.owner.query<{ row: string }>("select l::text as row from pb.pending_emails l");
  return rows.map(({ row }) => row);
}

async function requestLink(email: string, more = {}): Promise<[number, string]> {
  const { status, text } = await fixture.openBrowser().send("POST", "sign-in/email", { email, ...more });
  return [status, text];
}

async function makeDue(): Promise<void> {
  await db.owner.query("update pb.pending_emails set due_at = clock_timestamp()");
}

test("an emailed link signs in once and is never stored in plain text", async () => {
  const email = someone("ada");
  await fixture.openAccount(email);
  const browser = fixture.openBrowser();
  const { body: view } = await browser.get("session");
  assert.deepEqual([view.sign_in.email, view.features.mail], [true, true]);
  assert.deepEqual(await requestLink(email.toUpperCase(), { return_to: "/console/keys" }), [202, "{}"]);
  const waiting = await queued();
  assert.equal(waiting.length, 1);
  const { emails } = await work();
  assert.equal(emails.length, 1);
  assert.deepEqual(emails[0]?.to, [email]);
  const raw = (emails[0]?.raw ?? "").replaceAll("=3D", "=");
  assert.match(raw, /http:\/\/search\.test\/console\/sign-in#token=[\w-]{43,}&return_to=%2Fconsole%2Fkeys\n/);
  const token = tokenIn(raw);
  assert.deepEqual(await queued(), [], "the row is deleted after sending");
  const { rows } = await db.owner.query<{ row: string }>("select t::text as row from pb.sign_in_tokens t");
  for (const row of [...waiting, ...rows.map((each) => each.row), server.logged()]) {
    assert.ok(!row.includes(token) && !row.includes(Buffer.from(token).toString("hex")));
  }
  const { body } = await browser.send("POST", "sign-in/token", { token });
  assert.equal(body.person.email, email);
  assert.equal((await browser.send("POST", "sign-in/token", { token })).body.code, "link_not_valid");
});

test("a link contains the address it signs in, and does not work with another one", async () => {
  const email = someone("ada");
  await fixture.openAccount(email);
  const token = await makeToken(db, email);
  assert.equal(Buffer.from(token.slice(43), "base64url").toString(), email);
  // The page shows the address before it signs in, so it must not be possible to show another one.
  const other = Buffer.from(someone("eve")).toString("base64url");
  for (const forged of [`${token.slice(0, 43)}${other}`, token.slice(0, 43)]) {
    const reply = await fixture.openBrowser().send("POST", "sign-in/token", { token: forged });
    assert.equal(reply.body.code, "link_not_valid");
  }
  const { body } = await fixture.openBrowser().send("POST", "sign-in/token", { token });
  assert.equal(body.person.email, email);
});

test("the longest address can sign in with its link", async () => {
  const email = `${"a".repeat(64)}@${"b".repeat(60)}.${"c".repeat(60)}.${"d".repeat(60)}.test`;
  assert.ok(email.length > 250);
  await fixture.openAccount(email);
  const reply = await fixture.openBrowser().send("POST", "sign-in/token", { token: await makeToken(db, email) });
  assert.equal(reply.body.person?.email, email, reply.text);
});

test("a link expires after 15 minutes, and is not sent once expired", async () => {
  const email = someone("late");
  await fixture.openAccount(email);
  await requestLink(email);
  const { emails } = await work();
  await requestLink(email);
  const { rows } = await db.owner.query<{ minutes: number }>(
    `select extract(epoch from expires_at - created_at)::float / 60 as minutes from pb.sign_in_tokens where email = $1`,
    [email],
  );
  for (const { minutes } of rows) assert.equal(Math.round(minutes), 15);
  await db.owner.query("update pb.sign_in_tokens set expires_at = clock_timestamp() where email = $1", [email]);
  const token = tokenIn((emails[0]?.raw ?? "").replaceAll("=3D", "="));
  const reply = await fixture.openBrowser().send("POST", "sign-in/token", { token });
  assert.deepEqual([reply.status, reply.body.code], [400, "link_not_valid"]);
  assert.deepEqual((await work()).emails, []);
  assert.deepEqual(await queued(), []);
});

test("requesting a link does not reveal whether an address is known, and unknown addresses get no email", async () => {
  const [known, unknown] = [someone("known"), someone("unknown")];
  await fixture.openAccount(known);
  const replies = [];
  for (const email of [known, unknown]) {
    const { status, text, headers } = await fixture.openBrowser().send("POST", "sign-in/email", { email });
    const plain = [...headers].filter(([name]) => !["request-id", "date"].includes(name));
    replies.push([status, text, plain]);
  }
  assert.deepEqual(replies[0], replies[1]);
  const { rows } = await db.owner.query(
    "select from pb.sign_in_tokens t join pb.pending_emails l on l.sign_in_digest = t.digest",
  );
  assert.equal(rows.length, 2, "both were queued");
  const { emails } = await work();
  assert.deepEqual(
    emails.map(({ to }) => to),
    [[known]],
  );
  assert.deepEqual(await queued(), []);
});

test("a failed email is retried later with the same link and sent only once", async () => {
  const email = someone("flaky");
  await fixture.openAccount(email);
  await requestLink(email);
  mail.refuse(true);
  assert.deepEqual([(await work()).failures, (await queued()).length], [1, 1]);
  mail.refuse(false);
  assert.deepEqual((await work()).emails, [], "not immediately");
  await makeDue();
  assert.equal((await work()).emails.length, 1);
  await makeDue();
  assert.deepEqual((await work()).emails, []);
});

test("one network can request five links for a mailbox in 15 minutes, counting +tags as the same mailbox", async () => {
  for (const [name, make] of [
    ["known", (email: string) => fixture.openAccount(email)],
    ["unknown", async () => undefined],
  ] as const) {
    const email = someone(name);
    await make(email);
    const browser = fixture.openBrowser();
    const statuses: number[] = [];
    for (let count = 0; count <= maxEmailsFromNetwork; count += 1) {
      const { status } = await browser.send("POST", "sign-in/email", { email: email.replace("@", `+${count}@`) });
      statuses.push(status);
    }
    assert.deepEqual(statuses, [...Array.from({ length: maxEmailsFromNetwork }, () => 202), 429], name);
  }
  await work();
});

test("a person can sign in while 20 networks request links and send invitations for variants of the address", async () => {
  const open = await createConsoleFixture({ ...settings, PENNYBLACK_SIGN_UP: "open" });
  try {
    const victim = someone("erin");
    await open.openAccount(victim);
    const attackers = [someone("eve"), someone("mallory")];
    const wallets = new Map<string, string>();
    for (const attacker of attackers) wallets.set(attacker, (await open.openAccount(attacker)).walletId);
    const variant = (tag: string): string => victim.replace("@", `+${tag}@`);
    let invited = 0;
    for (let network = 0; network < 20; network += 1) {
      const attacker = attackers[network % 2] ?? "";
      const browser = await open.signIn(attacker);
      const invitation = { email: variant(`i${network}`), role: "viewer" };
      const path = `wallets/${wallets.get(attacker)}/invitations`;
      if ((await browser.send("POST", path, invitation)).status === 201) invited += 1;
      for (let time = 0; time < maxEmailsFromNetwork; time += 1) {
        // Half of the addresses are invited, which must not exempt them.
        const email = variant(time % 2 === 0 ? `i${network}` : `${network}.${time}`);
        await browser.send("POST", "sign-in/email", { email });
      }
    }
    const own = open.openBrowser();
    assert.equal((await own.send("POST", "sign-in/email", { email: victim })).status, 202);
    assert.equal(invited, maxEmailsTo);
    const { emails } = await work(open.db);
    const invitations = emails.filter(({ raw }) => raw.includes("/console/invitation#"));
    const toVictim = emails.filter(({ to }) => to.includes(victim));
    assert.equal(invitations.length, maxEmailsTo);
    assert.equal(emails.length - invitations.length - toVictim.length, maxEmailsTo, "links to variants");
    assert.equal(toVictim.length, 1);
    const token = tokenIn((toVictim[0]?.raw ?? "").replaceAll("=3D", "="));
    assert.equal((await own.send("POST", "sign-in/token", { token })).body.person?.email, victim);
  } finally {
    await open.close();
  }
});

test("when other networks have requested the maximum of links for an address, the last one in its mailbox works", async () => {
  const victim = someone("erin");
  await fixture.openAccount(victim);
  for (let network = 0; network < 20; network += 1) await requestLink(victim);
  const own = fixture.openBrowser();
  const reply = await own.send("POST", "sign-in/email", { email: victim });
  assert.equal(reply.status, 429);
  assert.match(reply.body.detail, /Open the newest link/);
  assert.ok(reply.body.exceeded.window_seconds <= 15 * 60, "no longer than a link is valid");
  const { emails } = await work();
  assert.deepEqual(
    emails.map(({ to }) => to),
    Array.from({ length: maxEmailsTo }, () => [victim]),
  );
  const token = tokenIn((emails.at(-1)?.raw ?? "").replaceAll("=3D", "="));
  assert.equal((await own.send("POST", "sign-in/token", { token })).body.person?.email, victim);
});

test("token attempts are rate limited per network", async () => {
  const browser = fixture.openBrowser();
  const codes = [];
  for (let count = 0; count <= maxAttempts; count += 1) {
    const { body } = await browser.send("POST", "sign-in/token", { token: `${count}`.padStart(43, "x") });
    codes.push(body.code);
  }
  assert.deepEqual([...new Set(codes.slice(0, maxAttempts))], ["link_not_valid"]);
  assert.equal(codes[maxAttempts], "rate_limited");
  assert.equal((await browser.send("POST", "sign-in/email", { email: someone("x") })).status, 429);
  assert.equal(
    (await fixture.openBrowser().send("POST", "sign-in/token", { token: "x" })).status,
    400,
    "other networks",
  );
});

test("rejects invalid addresses and return paths", async () => {
  for (const body of [
    {},
    { email: "ada" },
    { email: "ada@example.test\nBcc: x@y.test" },
    { email: "a@b.test, c@d.test" },
    { email: "ada@example.test", return_to: "https://evil.test" },
    { email: "ada@example.test", return_to: "/console/../v1" },
    { email: "ada@example.test", more: 1 },
  ]) {
    const reply = await fixture.openBrowser().send("POST", "sign-in/email", body);
    assert.deepEqual([reply.status, reply.body.code], [400, "invalid_request"], JSON.stringify(body));
  }
  assert.deepEqual(await queued(), []);
});

test("an invitation is emailed to its address only, works once, and can be revoked", async () => {
  const [owner, guest, other] = [someone("owner"), someone("guest"), someone("other")];
  const { walletId } = await fixture.openAccount(owner);
  const browser = await fixture.signIn(owner);
  const invitations = `wallets/${walletId}/invitations`;
  const made = await browser.send("POST", invitations, { email: guest, role: "developer" });
  assert.equal(made.status, 201);
  assert.deepEqual(Object.keys(made.body), ["id", "email", "role", "expires_at"], "no token in the response");
  const { emails } = await work();
  assert.deepEqual(emails[0]?.to, [guest]);
  const raw = (emails[0]?.raw ?? "").replaceAll("=3D", "=");
  assert.match(raw, /http:\/\/search\.test\/console\/invitation#token=[\w-]{43}\n/);
  const team = (await browser.get(`wallets/${walletId}/members`)).body;
  assert.deepEqual(team.invitations, [made.body]);

  const invited = fixture.openBrowser();
  const accept = { token: tokenIn(raw), name: "Guest" };
  const joined = await invited.send("POST", "invitations/accept", accept);
  assert.equal(joined.status, 200, joined.text);
  assert.deepEqual([joined.body.person.email, joined.body.person.name], [guest, "Guest"]);
  assert.deepEqual([joined.body.wallets[0].id, joined.body.wallets[0].role], [walletId, "developer"]);
  assert.equal((await fixture.openBrowser().send("POST", "invitations/accept", accept)).body.code, "link_not_valid");

  const { body: second } = await browser.send("POST", invitations, { email: other, role: "viewer" });
  assert.equal((await browser.send("DELETE", `${invitations}/${second.id}`)).status, 204);
  assert.deepEqual((await work()).emails, []);
  const after = (await browser.get(`wallets/${walletId}/members`)).body;
  assert.deepEqual(
    after.members.map((member: { email: string; role: string; you: boolean }) => [
      member.email,
      member.role,
      member.you,
    ]),
    [
      [owner, "owner", true],
      [guest, "developer", false],
    ],
  );
  assert.deepEqual(after.invitations, []);
});

test("an invitation names the inviter's address and quotes the name of the account", async () => {
  const [owner, guest] = [someone("owner"), someone("guest")];
  const { accountId, walletId } = await fixture.openAccount(owner);
  await db.owner.query("update pb.accounts set name = $1 where id = $2", ['Acme" team', accountId]);
  const browser = await fixture.signIn(owner);
  await browser.send("POST", `wallets/${walletId}/invitations`, { email: guest, role: "viewer" });
  const { emails } = await work();
  const text = (emails[0]?.raw ?? "").replaceAll("=\n", "").replaceAll("=3D", "=");
  assert.match(text, /^Subject: Invitation to join an account on Pennyblack$/m);
  assert.ok(
    text.includes(`${owner} has invited you to join the account "Acme' team" at http://search.test as a viewer.`),
  );
});

test("a person can send at most 30 invitations in 15 minutes", async () => {
  const owner = someone("spammer");
  const { walletId } = await fixture.openAccount(owner);
  const browser = await fixture.signIn(owner);
  const statuses: number[] = [];
  for (let count = 0; count <= maxInvitations; count += 1) {
    const body = { email: someone("victim"), role: "viewer" };
    statuses.push((await browser.send("POST", `wallets/${walletId}/invitations`, body)).status);
  }
  assert.deepEqual(statuses, [...Array.from({ length: maxInvitations }, () => 201), 429]);
});

test("an invitation link works once, and only for a person who has signed in with the invited address", async () => {
  const [owner, guest, stranger] = [someone("owner"), someone("guest"), someone("stranger")];
  const { walletId } = await fixture.openAccount(owner);
  await fixture.openAccount(stranger);
  const boss = await fixture.signIn(owner);
  const { body: made } = await boss.send("POST", `wallets/${walletId}/invitations`, { email: guest, role: "viewer" });
  const path = `invitations/${made.id}`;
  const accept = (browser: Browser) => browser.send("POST", `${path}/accept`, { name: "Guest" });
  assert.equal((await accept(fixture.openBrowser())).body.code, "session_required");
  // The owner has the link too. It must not make them a guest.
  for (const browser of [boss, await fixture.signIn(stranger)]) {
    assert.equal((await browser.get(path)).body.code, "link_not_valid");
    assert.equal((await accept(browser)).body.code, "link_not_valid");
  }
  const token = { token: made.id, name: "Guest" };
  assert.equal((await boss.send("POST", "invitations/accept", token)).body.code, "link_not_valid");

  await work();
  await requestLink(guest);
  const [email] = (await work()).emails;
  assert.deepEqual(email?.to, [guest], "the invited address can sign in while sign-up is closed");
  const invited = fixture.openBrowser();
  await invited.send("POST", "sign-in/token", { token: tokenIn((email?.raw ?? "").replaceAll("=3D", "=")) });
  const { account_name: account, role } = (await invited.get(path)).body;
  assert.deepEqual([account, role], [`Account of ${owner}`, "viewer"]);
  const joined = await accept(invited);
  assert.deepEqual([joined.body.person.name, joined.body.wallets[0].id], ["Guest", walletId]);
  assert.equal((await accept(invited)).body.code, "link_not_valid");
  assert.equal((await invited.get(path)).body.code, "link_not_valid");
});

test("an expired or revoked invitation link is not valid", async () => {
  const [owner, guest] = [someone("owner"), someone("guest")];
  const { walletId } = await fixture.openAccount(owner);
  await fixture.openAccount(guest);
  const [boss, invited] = [await fixture.signIn(owner), await fixture.signIn(guest)];
  const invitations = `wallets/${walletId}/invitations`;
  const changes = [
    (id: string) => db.owner.query("update pb.invitations set expires_at = clock_timestamp() where id = $1", [id]),
    (id: string) => boss.send("DELETE", `${invitations}/${id}`),
  ];
  for (const change of changes) {
    const { body } = await boss.send("POST", invitations, { email: guest, role: "viewer" });
    const accept = (browser: Browser) => browser.send("POST", `invitations/${body.id}/accept`, { name: "" });
    assert.equal((await accept(boss)).body.code, "link_not_valid", "it is not valid for the owner who made it");
    assert.equal((await invited.get(`invitations/${body.id}`)).status, 200);
    await change(body.id);
    assert.equal((await accept(invited)).body.code, "link_not_valid");
  }
});

test("without email, the operator signs people in and an invitation queues nothing", async () => {
  const silent = await createConsoleFixture();
  try {
    const reply = await silent.openBrowser().send("POST", "sign-in/email", { email: "ada@example.test" });
    assert.equal(reply.status, 404);
    assert.match(reply.body.detail, /admin -- console sign-in-link/);

    const [owner, guest] = [someone("owner"), someone("guest")];
    const { walletId } = await silent.openAccount(owner);
    const boss = await silent.signIn(owner);
    const body = { email: guest, role: "developer" };
    const made = await boss.send("POST", `wallets/${walletId}/invitations`, body);
    assert.equal(made.status, 201, made.text);
    assert.equal((await silent.db.owner.query("select from pb.pending_emails")).rowCount, 0);
    const invited = await silent.signIn(guest);
    const joined = await invited.send("POST", `invitations/${made.body.id}/accept`, { name: "Guest" });
    assert.deepEqual([joined.body.wallets[0].id, joined.body.wallets[0].role], [walletId, "developer"]);
  } finally {
    await silent.close();
  }
});
