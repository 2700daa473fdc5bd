import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { createMailer, sendMail } from "../../src/webhooks/mail.ts";
import { type MailServer, startMailServer } from "../mail-server.ts";
import { createWebhookWorld, type WebhookWorld } from "../webhook-world.ts";

let world: WebhookWorld;
let mail: MailServer;
let failures: unknown[] = [];

before(async () => {
  world = await createWebhookWorld();
  mail = await startMailServer();
});

beforeEach(() => {
  failures = [];
  mail.letters.length = 0;
});

after(async () => {
  await mail.close();
  await world.close();
});

/** What the worker does every few seconds. Says how many letters were tried. */
async function send(): Promise<number> {
  await world.send({ hasMail: true });
  const mailer = createMailer({ smtpUrl: mail.url, from: "Pennyblack <alerts@search.test>" });
  const onFailure = (failure: unknown): void => void failures.push(failure);
  return sendMail({ pool: world.db.owner, mailer, topUpUrl: "https://search.test/top-up", onFailure }, 10);
}

const setAlerts = async (
  wallet: Parameters<WebhookWorld["manage"]>[0],
  email: string | null,
  low_balance: string | null,
) => assert.equal((await world.manage(wallet, "PUT", "/v1/wallet/alerts", { email, low_balance })).status, 200);

test("a low balance is told by e-mail: the balance, what happens at zero, where to top up, and nothing secret", async () => {
  const wallet = await world.createWallet("5.00");
  await setAlerts(wallet, "owner@example.com", "5.00");
  assert.equal(await send(), 0, "5.00 is not below 5.00");
  await setAlerts(wallet, "owner@example.com", "7.5");
  await send();
  assert.equal(await send(), 0, "once");
  const [letter, ...others] = mail.letters;
  assert.ok(letter);
  assert.deepEqual(others, []);
  assert.deepEqual([letter.from, letter.to], ["alerts@search.test", ["owner@example.com"]]);
  for (const words of ["Subject: The balance of test is low: 5.00 USD", "5.00 USD, less than the 7.50 USD"]) {
    assert.ok(letter.raw.includes(words), letter.raw);
  }
  for (const words of ["less than 0.01 USD is left", "refused with 402", "Top up here: https://search.test/top-up"]) {
    assert.ok(letter.raw.includes(words), letter.raw);
  }
  assert.match(letter.raw, /^Content-Type: text\/plain/m);
  assert.match(letter.raw, /^Auto-Submitted: auto-generated$/m);
  assert.doesNotMatch(letter.raw, /pb_(live|test|mgmt)_|whsec_/);
  assert.ok(!letter.raw.includes(wallet.walletId));
});

test("mail that a server refuses is sent later, as the same message", async () => {
  const wallet = await world.createWallet("1.00");
  mail.refuse(true);
  await setAlerts(wallet, "owner@example.com", "2.00");
  assert.equal(await send(), 1);
  assert.equal(failures.length, 1);
  assert.equal(await send(), 0, "not at once");
  mail.refuse(false);
  await world.db.owner.query("update pb.events set mail_due_at = now() where mail_due_at is not null");
  assert.equal(await send(), 1);
  assert.equal(mail.letters.length, 1);
  assert.match(mail.letters[0]?.raw ?? "", /^Message-ID: <[0-9a-f-]{36}@pennyblack>$/m);
});

test("mail that is refused for days is given up", async () => {
  const wallet = await world.createWallet("1.00");
  mail.refuse(true);
  await setAlerts(wallet, "owner@example.com", "2.00");
  let tried = 0;
  for (let round = 0; round < 10; round += 1) {
    tried += await send();
    await world.db.owner.query("update pb.events set mail_due_at = now() where mail_due_at is not null");
  }
  mail.refuse(false);
  assert.equal(tried, 6);
});

test("without an address nobody is written to, and other events are not worth a letter", async () => {
  const wallet = await world.createWallet("1.00");
  await setAlerts(wallet, null, "2.00");
  await send();
  await setAlerts(wallet, "owner@example.com", null);
  await world.note(wallet, "key.created");
  await send();
  assert.deepEqual(mail.letters, []);
  assert.deepEqual(failures, []);
});

test("a disabled endpoint is told by e-mail, by its host and not by its path", async () => {
  const wallet = await world.createWallet();
  await setAlerts(wallet, "owner@example.com", null);
  await world.note(wallet, "webhook.disabled", {
    endpoint_id: "01a1dca0-9422-7d2b-aced-0d68680215be",
    url: "https://hooks.example.com/token-of-theirs",
    reason: "failing",
  });
  await send();
  const raw = mail.letters[0]?.raw ?? "";
  assert.match(raw, /no longer sent to hooks\.example\.com, because every delivery failed for five days/);
  assert.ok(!raw.includes("token-of-theirs"));
});

test("a wallet's name cannot add headers or recipients", async () => {
  const wallet = await world.createWallet("1.00");
  const name = "x\r\nBcc: victim@example.com\r\n\r\nBuy";
  await world.db.owner.query("update pb.wallets set name = $2 where id = $1", [wallet.walletId, name]);
  await setAlerts(wallet, "owner@example.com", "2.00");
  await send();
  const letter = mail.letters[0] ?? assert.fail();
  assert.deepEqual(letter.to, ["owner@example.com"]);
  const [headers = ""] = letter.raw.split("\n\n");
  assert.doesNotMatch(headers, /^Bcc:/im);
});
