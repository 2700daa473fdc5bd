import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { deleteAccount, signUp } from "../../src/accounts/accounts.ts";
import { sealEmail, sendSignInEmails } from "../../src/email/email.ts";
import { createSecrets } from "../../src/lib/secrets.ts";
import { setTrialTerms } from "../../src/wallet/wallet.ts";
import { openSecret, sealSecret } from "../../src/webhooks/webhook-secret.ts";
import { testAct } from "../support/data/test-act.ts";
import { runAdmin } from "../support/services/admin-process.ts";
import { testEnvironment, testPepper } from "../support/services/server.ts";
import { createWebhookFixture } from "../support/webhook-fixture.ts";

// `npm run admin -- secret reseal` encrypts stored values under the first secret in PENNYBLACK_SECRET.

const [one, two] = [randomBytes(32), randomBytes(32)];
const [onlyOne, onlyTwo] = [createSecrets([one]), createSecrets([two])];
const list = (...secrets: Buffer[]) => secrets.map((bytes) => bytes.toString("base64")).join(",");
const fixture = await createWebhookFixture({ PENNYBLACK_SECRET: list(one, two) });
const { db, createWallet } = fixture;

/** The numbers of each row that the command prints: already current, converted, not convertible. */
async function reseal(): Promise<Record<string, number[]>> {
  const { exitCode, stdout, stderr } = await runAdmin(
    { ...testEnvironment(db), PENNYBLACK_SECRET: list(two, one), PENNYBLACK_DIRECT_DATABASE_URL: db.ownerUrl },
    "secret",
    "reseal",
  );
  assert.equal(exitCode, 0, stderr);
  const rows = stdout.matchAll(/^ {2}(\w+ \w+) +(\d+) +(\d+) +(\d+)$/gm);
  return Object.fromEntries([...rows].map(([, name = "", ...counts]) => [name, counts.map(Number)]));
}

test("webhook secrets open with the new secret alone", async () => {
  const wallet = await createWallet();
  const url = "http://127.0.0.1:9/";
  const old = await fixture.subscribe(wallet, url);
  const rotated = await fixture.subscribe(wallet, url);
  const lost = await fixture.subscribe(wallet, url);
  await db.owner.query("update pb.webhook_endpoints set secret = $2 where id = $1", [
    lost.id,
    sealSecret(createSecrets([randomBytes(32)]), lost.id, "whsec_"),
  ]);
  const path = `/v1/webhooks/${rotated.id}/rotate-secret`;
  const { body: renewed } = await fixture.manage(wallet, "POST", path);
  await db.owner.query("update pb.webhook_endpoints set secret = $2 where id = $1", [
    rotated.id,
    sealSecret(onlyTwo, rotated.id, renewed.secret),
  ]);
  assert.deepEqual((await reseal())["webhook secrets"], [1, 2, 1]);
  assert.deepEqual((await reseal())["webhook secrets"], [3, 0, 1]);
  const { rows } = await db.owner.query<{ id: string; secret: Buffer; previous_secret: Buffer | null }>(
    "select id, secret, previous_secret from pb.webhook_endpoints where id <> $1",
    [lost.id],
  );
  const opened = rows.flatMap(({ id, secret, previous_secret: previous }) =>
    [secret, previous].flatMap((sealed) => (sealed ? [openSecret(onlyTwo, id, sealed)] : [])),
  );
  assert.deepEqual(new Set(opened), new Set([old.secret, rotated.secret, renewed.secret]));
});

test("a queued email is sent by a worker that lists the new secret alone", async () => {
  const { id, sealed } = sealEmail(onlyOne, { token: "a-token" });
  const values = ["ada@example.org", randomBytes(32), true, id, sealed];
  await db.owner.query("select pb.request_sign_in($1, $2, $3, $4, $5)", values);
  assert.deepEqual((await reseal())["queued emails"], [0, 1, 0]);
  const texts: string[] = [];
  const mailer = { send: async ({ text }: { text: string }) => void texts.push(text) };
  const onFailure = ({ err }: { err: unknown }): never => assert.fail(String(err));
  await sendSignInEmails({ pool: db.owner, secrets: onlyTwo, publicUrl: "http://x", mailer, onFailure }, 10);
  assert.match(texts.join(), /a-token/);
});

test("a person has one trial, before and after a rotation", async () => {
  await setTrialTerms(db.owner, { amount: 500_000n, maxPerDay: 100 }, testAct);
  const sign = (email: string, trialSecrets: typeof onlyOne) =>
    signUp(db.owner, { email, personName: "", accountName: "a", act: testAct }, { pepper: testPepper, trialSecrets });
  assert.equal((await sign("grace@example.org", onlyOne)).trial, "given");
  assert.equal((await sign("g.race+2@example.org", onlyOne)).trial, "given", "another mailbox");
  const gone = await sign("gone@example.org", onlyOne);
  await deleteAccount(db.owner, { operator: "test", reason: "test" }, gone.accountId, true);
  assert.deepEqual((await reseal())["data keys"], [0, 1, 0]);
  assert.equal((await sign("grace+again@example.org", onlyTwo)).trial, "already_given");
  assert.equal((await sign("gone@example.org", onlyTwo)).trial, "already_given", "although the account was deleted");
});
