import assert from "node:assert/strict";
import { createSecretKey } from "node:crypto";
import { after, test } from "node:test";
import { sendLetters } from "../../src/console/console.ts";
import { mostInvitations, mostLetters, mostTries } from "../../src/console/sign-in-limits.ts";
import { createMailer } from "../../src/webhooks/mail.ts";
import { createConsoleWorld, publicUrl, someone, tokenIn } from "../console-world.ts";
import { type Letter, startMailServer } from "../mail-server.ts";
import { testEnvironment } from "../server.ts";

// Links and invitations by e-mail, over a real mail server on loopback. The test plays the worker.

const mail = await startMailServer();
const from = "Pennyblack <console@search.test>";
const settings = { PENNYBLACK_SMTP_URL: mail.url, PENNYBLACK_MAIL_FROM: from };
const world = await createConsoleWorld(settings);
const { db, server } = world;
const mailer = createMailer({ smtpUrl: mail.url, from });
const secret = createSecretKey(Buffer.from(testEnvironment(db)["PENNYBLACK_SECRET"] ?? "", "base64"));

after(async () => {
  await world.close();
  await mail.close();
});

/** One run of the worker. What it sent, and how often it failed. */
async function work(): Promise<{ letters: Letter[]; failures: number }> {
  mail.letters.length = 0;
  let failures = 0;
  const onFailure = (): void => void (failures += 1);
  await sendLetters({ pool: db.owner, secret, publicUrl, mailer, onFailure }, 100);
  return { letters: [...mail.letters], failures };
}

async function queued(): Promise<string[]> {
  const { rows } = await db.owner.query<{ row: string }>("select l::text as row from pb.letters l");
  return rows.map(({ row }) => row);
}

async function ask(email: string, more = {}): Promise<[number, string]> {
  const { status, text } = await world.openBrowser().send("POST", "sign-in/email", { email, ...more });
  return [status, text];
}

async function makeDue(): Promise<void> {
  await db.owner.query("update pb.letters set due_at = clock_timestamp()");
}

test("a link is mailed, signs in once, and is kept nowhere in plain", async () => {
  const email = someone("ada");
  await world.openAccount(email);
  const browser = world.openBrowser();
  const { body: view } = await browser.get("session");
  assert.deepEqual([view.sign_in.email, view.features.mail], [true, true]);
  assert.deepEqual(await ask(email.toUpperCase(), { return_to: "/console/keys" }), [202, "{}"]);
  const waiting = await queued();
  assert.equal(waiting.length, 1);
  const { letters } = await work();
  assert.equal(letters.length, 1);
  assert.deepEqual(letters[0]?.to, [email]);
  const raw = (letters[0]?.raw ?? "").replaceAll("=3D", "=");
  assert.match(raw, /http:\/\/search\.test\/console\/sign-in#token=[\w-]{43}&return_to=%2Fconsole%2Fkeys\n/);
  const token = tokenIn(raw);
  assert.deepEqual(await queued(), [], "what was sent is forgotten");
  const { rows } = await db.owner.query<{ row: string }>("select t::text as row from pb.sign_in_tokens t");
  for (const row of [...waiting, ...rows.map((each) => each.row), server.logged()]) {
    assert.ok(!row.includes(token) && !row.includes(Buffer.from(token).toString("hex")));
  }
  const { body } = await browser.send("POST", "sign-in/token", { token });
  assert.equal(body.person.email, email);
  assert.equal((await browser.send("POST", "sign-in/token", { token })).body.code, "link_not_valid");
});

test("a link is over after fifteen minutes, and an unsent one is not sent then", async () => {
  const email = someone("late");
  await world.openAccount(email);
  await ask(email);
  const { letters } = await work();
  await ask(email);
  const { rows } = await db.owner.query<{ minutes: number }>(
    `select extract(epoch from expires_at - created_at)::float / 60 as minutes from pb.sign_in_tokens where email = $1`,
    [email],
  );
  for (const { minutes } of rows) assert.equal(Math.round(minutes), 15);
  await db.owner.query("update pb.sign_in_tokens set expires_at = clock_timestamp() where email = $1", [email]);
  const token = tokenIn((letters[0]?.raw ?? "").replaceAll("=3D", "="));
  const reply = await world.openBrowser().send("POST", "sign-in/token", { token });
  assert.deepEqual([reply.status, reply.body.code], [400, "link_not_valid"]);
  assert.deepEqual((await work()).letters, []);
  assert.deepEqual(await queued(), []);
});

test("asking tells nobody whether an address is known: answer, headers and work are the same, and strangers get no mail", async () => {
  const [known, unknown] = [someone("known"), someone("unknown")];
  await world.openAccount(known);
  const replies = [];
  for (const email of [known, unknown]) {
    const { status, text, headers } = await world.openBrowser().send("POST", "sign-in/email", { email });
    const plain = [...headers].filter(([name]) => !["request-id", "date"].includes(name));
    replies.push([status, text, plain]);
  }
  assert.deepEqual(replies[0], replies[1]);
  const { rows } = await db.owner.query(
    "select from pb.sign_in_tokens t join pb.letters l on l.sign_in_digest = t.digest",
  );
  assert.equal(rows.length, 2, "both were queued");
  const { letters } = await work();
  assert.deepEqual(
    letters.map(({ to }) => to),
    [[known]],
  );
  assert.deepEqual(await queued(), []);
});

test("mail that fails is tried again later, with the same link, and no second copy is sent", async () => {
  const email = someone("flaky");
  await world.openAccount(email);
  await ask(email);
  mail.refuse(true);
  assert.deepEqual([(await work()).failures, (await queued()).length], [1, 1]);
  mail.refuse(false);
  assert.deepEqual((await work()).letters, [], "not at once");
  await makeDue();
  assert.equal((await work()).letters.length, 1);
  await makeDue();
  assert.deepEqual((await work()).letters, []);
});

test("one mailbox gets five letters in a quarter of an hour, whatever is written after a + and whoever asks", async () => {
  for (const [name, make] of [
    ["known", (email: string) => world.openAccount(email)],
    ["unknown", async () => undefined],
  ] as const) {
    const email = someone(name);
    await make(email);
    const statuses: number[] = [];
    for (let count = 0; count <= mostLetters; count += 1) {
      const [status] = await ask(email.replace("@", `+${count}@`));
      statuses.push(status);
    }
    assert.deepEqual(statuses, [...Array.from({ length: mostLetters }, () => 202), 429], name);
  }
  await work();
});

test("from one place tokens cannot be tried without end", async () => {
  const browser = world.openBrowser();
  const codes = [];
  for (let count = 0; count <= mostTries; count += 1) {
    const { body } = await browser.send("POST", "sign-in/token", { token: `${count}`.padStart(43, "x") });
    codes.push(body.code);
  }
  assert.deepEqual([...new Set(codes.slice(0, mostTries))], ["link_not_valid"]);
  assert.equal(codes[mostTries], "rate_limited");
  assert.equal((await browser.send("POST", "sign-in/email", { email: someone("x") })).status, 429);
  assert.equal((await world.openBrowser().send("POST", "sign-in/token", { token: "x" })).status, 400, "others may");
});

test("what is no address, or leads elsewhere afterwards, is refused", async () => {
  for (const body of [
    {},
    { email: "ada" },
    { email: "ada@example.test\nBcc: x@y.test" },
    { email: "a@b.test, c@d.test" },
    { email: "ada@example.test", return_to: "https://evil.test" },
    { email: "ada@example.test", return_to: "/console/../v1" },
    { email: "ada@example.test", more: 1 },
  ]) {
    const reply = await world.openBrowser().send("POST", "sign-in/email", body);
    assert.deepEqual([reply.status, reply.body.code], [400, "invalid_request"], JSON.stringify(body));
  }
  assert.deepEqual(await queued(), []);
});

test("an invitation reaches its address alone, joins once, and is no more when it is taken back", async () => {
  const [owner, guest, other] = [someone("owner"), someone("guest"), someone("other")];
  const { walletId } = await world.openAccount(owner);
  const browser = await world.signIn(owner);
  const invitations = `wallets/${walletId}/invitations`;
  const made = await browser.send("POST", invitations, { email: guest, role: "developer" });
  assert.equal(made.status, 201);
  assert.deepEqual(Object.keys(made.body), ["id", "email", "role", "expires_at"], "and no token");
  const { letters } = await work();
  assert.deepEqual(letters[0]?.to, [guest]);
  const raw = (letters[0]?.raw ?? "").replaceAll("=3D", "=");
  assert.match(raw, /http:\/\/search\.test\/console\/invitation#token=[\w-]{43}\n/);
  const team = (await browser.get(`wallets/${walletId}/members`)).body;
  assert.deepEqual(team.invitations, [made.body]);

  const invited = world.openBrowser();
  const accept = { token: tokenIn(raw), name: "Guest" };
  const joined = await invited.send("POST", "invitations/accept", accept);
  assert.equal(joined.status, 200, joined.text);
  assert.deepEqual([joined.body.person.email, joined.body.person.name], [guest, "Guest"]);
  assert.deepEqual([joined.body.wallets[0].id, joined.body.wallets[0].role], [walletId, "developer"]);
  assert.equal((await world.openBrowser().send("POST", "invitations/accept", accept)).body.code, "link_not_valid");

  const { body: second } = await browser.send("POST", invitations, { email: other, role: "viewer" });
  assert.equal((await browser.send("DELETE", `${invitations}/${second.id}`)).status, 204);
  assert.deepEqual((await work()).letters, []);
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

test("one person has thirty letters written to others in a quarter of an hour", async () => {
  const owner = someone("spammer");
  const { walletId } = await world.openAccount(owner);
  const browser = await world.signIn(owner);
  const statuses: number[] = [];
  for (let count = 0; count <= mostInvitations; count += 1) {
    const body = { email: someone("victim"), role: "viewer" };
    statuses.push((await browser.send("POST", `wallets/${walletId}/invitations`, body)).status);
  }
  assert.deepEqual(statuses, [...Array.from({ length: mostInvitations }, () => 201), 429]);
});

test("where no mail is sent, asking for some is refused and an operator makes the link", async () => {
  const silent = await createConsoleWorld();
  try {
    const reply = await silent.openBrowser().send("POST", "sign-in/email", { email: "ada@example.test" });
    assert.equal(reply.status, 404);
    assert.match(reply.body.detail, /admin -- console sign-in-link/);
  } finally {
    await silent.close();
  }
});
