import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { createEmailSender, sendAlertEmails } from "../../src/email/email.ts";
import { closeAfter } from "../support/close-after.ts";
import { startMailServer } from "../support/services/mail-server.ts";
import type { TestWallet } from "../support/services/server.ts";
import { createWebhookFixture } from "../support/webhook-fixture.ts";

const fixture = await createWebhookFixture();
const mail = closeAfter(await startMailServer());
let failures: unknown[] = [];

beforeEach(() => {
  failures = [];
  mail.emails.length = 0;
});

/** Sends all e-mails that are due, as the worker does. Returns the number of attempts. */
async function send(): Promise<number> {
  await fixture.send({ hasEmail: true });
  const mailer = createEmailSender({ smtpUrl: mail.url, from: "Pennyblack <alerts@search.test>" });
  const onFailure = (failure: unknown): void => void failures.push(failure);
  return sendAlertEmails(
    {
      pool: fixture.db.worker,
      mailer,
      topUpUrl: "https://search.test/top-up",
      publicUrl: "https://search.test",
      onFailure,
    },
    10,
  );
}

const setAlerts = async (wallet: TestWallet, email: string | null, low_balance: string | null) =>
  assert.equal((await fixture.manage(wallet, "PUT", "/v1/wallet/alerts", { email, low_balance })).status, 200);

test("a low-balance e-mail has the balance, the consequence and the top-up link, and no secrets", async () => {
  const wallet = await fixture.createWallet("5.00");
  await setAlerts(wallet, "owner@example.com", "5.00");
  assert.equal(await send(), 0, "5.00 is not below 5.00");
  await setAlerts(wallet, "owner@example.com", "7.5");
  await send();
  assert.equal(await send(), 0, "once");
  const [email, ...others] = mail.emails;
  assert.ok(email);
  assert.deepEqual(others, []);
  assert.deepEqual([email.from, email.to], ["alerts@search.test", ["owner@example.com"]]);
  for (const words of [
    "Subject: Low balance in test: 5.00 USD",
    "below your alert threshold of 7.50 USD",
    "balance falls below 0.01 USD",
    "fail with 402",
    "Top up: https://search.test/top-up",
  ])
    assert.ok(email.raw.includes(words), email.raw);
  assert.match(email.raw, /^Content-Type: text\/plain/m);
  assert.match(email.raw, /^Auto-Submitted: auto-generated$/m);
  assert.doesNotMatch(email.raw, /pb_(live|test|mgmt)_|whsec_/);
  assert.ok(!email.raw.includes(wallet.walletId));
});

test("an e-mail that the mail server rejects is sent later as the same message", async () => {
  const wallet = await fixture.createWallet("1.00");
  mail.refuse(true);
  await setAlerts(wallet, "owner@example.com", "2.00");
  assert.equal(await send(), 1);
  assert.equal(failures.length, 1);
  assert.equal(await send(), 0, "not immediately");
  mail.refuse(false);
  await fixture.db.owner.query("update pb.events set email_due_at = now() where email_due_at is not null");
  assert.equal(await send(), 1);
  assert.equal(mail.emails.length, 1);
  assert.match(mail.emails[0]?.raw ?? "", /^Message-ID: <[0-9a-f-]{36}@pennyblack>$/m);
});

test("an e-mail that is rejected six times is abandoned", async () => {
  const wallet = await fixture.createWallet("1.00");
  mail.refuse(true);
  await setAlerts(wallet, "owner@example.com", "2.00");
  let tried = 0;
  for (let round = 0; round < 10; round += 1) {
    tried += await send();
    await fixture.db.owner.query("update pb.events set email_due_at = now() where email_due_at is not null");
  }
  mail.refuse(false);
  assert.equal(tried, 6);
});

test("no e-mail is sent without an address, or for other events", async () => {
  const wallet = await fixture.createWallet("1.00");
  await setAlerts(wallet, null, "2.00");
  await send();
  await setAlerts(wallet, "owner@example.com", null);
  await fixture.emitEvent(wallet, "key.created");
  await send();
  assert.deepEqual(mail.emails, []);
  assert.deepEqual(failures, []);
});

test("the e-mail about a disabled endpoint contains its host and not its path", async () => {
  const wallet = await fixture.createWallet();
  await setAlerts(wallet, "owner@example.com", null);
  await fixture.emitEvent(wallet, "webhook.disabled", {
    endpoint_id: "01a1dca0-9422-7d2b-aced-0d68680215be",
    url: "https://hooks.example.com/secret-path",
    reason: "failing",
  });
  await send();
  const raw = mail.emails[0]?.raw ?? "";
  assert.match(raw, /no longer sent to hooks\.example\.com because every delivery failed for five days/);
  assert.ok(!raw.includes("secret-path"));
});

test("a wallet's name cannot add headers or recipients", async () => {
  const wallet = await fixture.createWallet("1.00");
  const name = "x\r\nBcc: victim@example.com\r\n\r\nBuy";
  await fixture.db.owner.query("update pb.wallets set name = $2 where id = $1", [wallet.walletId, name]);
  await setAlerts(wallet, "owner@example.com", "2.00");
  await send();
  const email = mail.emails[0] ?? assert.fail();
  assert.deepEqual(email.to, ["owner@example.com"]);
  const [headers = ""] = email.raw.split("\n\n");
  assert.doesNotMatch(headers, /^Bcc:/im);
});
