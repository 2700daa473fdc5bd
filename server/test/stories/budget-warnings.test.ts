import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { test } from "node:test";
import { createEmailSender, sendAlertEmails } from "../../src/email/email.ts";
import { createLedger } from "../../src/wallet/wallet.ts";
import { pluck } from "../support/assertions/pluck.ts";
import { closeAfter } from "../support/close-after.ts";
import { seedKeyLimits } from "../support/data/seed-wallet.ts";
import { shiftCalendar } from "../support/data/shift-calendar.ts";
import { startMailServer } from "../support/services/mail-server.ts";
import { createTestKey, type TestWallet } from "../support/services/server.ts";
import { startReceiver } from "../support/services/webhook-receiver.ts";
import { createWebhookFixture } from "../support/webhook-fixture.ts";

// The warnings of shared budgets, as the owner's webhook and mailbox receive them.

const fixture = await createWebhookFixture();
const { db, server, upstream, assertBooksBalance } = fixture;
const manage = (...request: Parameters<typeof fixture.manage>) => fixture.manage(...request);
const receiver = closeAfter(await startReceiver());
const mail = closeAfter(await startMailServer());
const question = { query: "cats" };

interface Team {
  wallet: TestWallet;
  /** Its path in the API. */
  budget: string;
  keyId: string;
  key: string;
}

async function createTeam(fields: object = {}): Promise<Team> {
  const wallet = await fixture.createWallet("20.00");
  const url = `${receiver.url}/${wallet.walletId}`;
  await fixture.subscribe(wallet, url, ["budget.threshold", "budget.spent", "key.budget_spent"]);
  const body = { mode: "live", name: "research", amount: "0.10", period: "week", ...fields };
  const { id: budget } = (await manage(wallet, "POST", "/v1/budgets", body)).body;
  const limitsId = await seedKeyLimits(db.owner, wallet.walletId, { shared: [budget] });
  const { id: keyId, key } = await createTestKey(db, { walletId: wallet.walletId, mode: "live", limitsId });
  return { wallet, budget: `/v1/budgets/${budget}`, keyId, key };
}

/** The events that the webhook of this wallet has received, in order. */
async function received({ wallet }: Team): Promise<Record<string, unknown>[]> {
  await fixture.send();
  const events = receiver.received.filter(({ path }) => path === `/${wallet.walletId}`).map(({ event }) => event);
  return events.map(({ type, data }) => ({ type, ...data }));
}

const percentages = async (team: Team): Promise<string[]> =>
  (await received(team)).map(({ type, percent }) => String(percent ?? type)).toSorted();

const search = async ({ key }: Team, count = 1): Promise<number[]> => {
  const statuses: number[] = [];
  for (let n = 0; n < count; n += 1) statuses.push((await server.search(key, question)).status);
  return statuses;
};

test("500 parallel searches of two servers around the thresholds, half of which fail, send each warning once", async () => {
  const team = await createTeam({ amount: "3.00", alerts: [50, 80, 95] });
  const { walletId } = team.wallet;
  const ledgers = [createLedger(db.ledger), createLedger(db.ledger)];
  // Spending falls and rises across every threshold: half of the searches give back, and others take their place.
  for (let round = 0; round < 3; round += 1)
    await Promise.all(
      Array.from({ length: 500 }, async (_, n) => {
        const ledger = ledgers[n % 2] ?? assert.fail();
        const item = { searchId: randomUUIDv7(), walletId, keyId: team.keyId };
        const { outcome } = await ledger.hold(item);
        if (outcome === "held") await (n % 4 < 2 && round < 2 ? ledger.release(item) : ledger.capture(item));
        else assert.equal(outcome, "key_budget_spent");
      }),
    );
  assert.equal((await manage(team.wallet, "GET", team.budget)).body.spent, "3.00");
  const warnings = (await received(team)).filter(({ type }) => type === "budget.threshold");
  assert.deepEqual(new Set(pluck(warnings, "percent")), new Set([50, 80, 95]));
  assert.equal(warnings.length, 3);
  for (const { percent, spent, limit } of warnings) {
    assert.equal(limit, "3.00");
    assert.ok(Number(spent) >= (3 * Number(percent)) / 100, `${String(spent)} at ${String(percent)} %`);
  }
  await assertBooksBalance();
});

test("a warning is sent when a percentage is reached, with the amounts, and again in the next period only", async () => {
  const team = await createTeam();
  await search(team, 7);
  assert.deepEqual(await received(team), []);
  await search(team);
  const [warning, ...others] = await received(team);
  assert.deepEqual(others, []);
  const { resets_at: resetsAt, ...data } = warning ?? assert.fail();
  assert.deepEqual(data, {
    type: "budget.threshold",
    wallet_id: team.wallet.walletId,
    currency: "usd",
    budget: { id: team.budget.replace("/v1/budgets/", ""), name: "research" },
    percent: 80,
    period: "week",
    limit: "0.10",
    spent: "0.08",
  });
  assert.equal(resetsAt, (await manage(team.wallet, "GET", team.budget)).body.resets_at);
  await search(team, 2);
  assert.deepEqual(await percentages(team), ["80", "95", "budget.spent"]);
  await shiftCalendar(db.owner, [team.wallet.walletId], "next week");
  await search(team, 7);
  assert.equal((await received(team)).length, 3);
  await search(team);
  assert.deepEqual(await percentages(team), ["80", "80", "95", "budget.spent"]);
});

test("failed searches that give back and reach the percentage again send no second warning", async () => {
  const team = await createTeam();
  await search(team, 7);
  for (let times = 0; times < 5; times += 1) {
    await upstream.behave("status_500");
    assert.deepEqual(await search(team), [500]);
    await upstream.behave("ok");
  }
  assert.deepEqual(await percentages(team), ["80"], "the hold of the first one reached it");
  assert.deepEqual(await search(team), [200]);
  assert.deepEqual(await percentages(team), ["80"]);
});

test("a changed amount or percentage warns at once if it is reached, and repeats no percentage", async () => {
  const team = await createTeam({ alerts: [80] });
  await search(team, 5);
  await manage(team.wallet, "PATCH", team.budget, { alerts: [50, 80] });
  assert.deepEqual(await percentages(team), ["50"]);
  await manage(team.wallet, "PATCH", team.budget, { amount: "0.06" });
  assert.deepEqual(await percentages(team), ["50", "80"]);
  await manage(team.wallet, "PATCH", team.budget, { amount: "1.00" });
  await search(team, 5);
  await manage(team.wallet, "PATCH", team.budget, { amount: "0.11", alerts: [10, 90] });
  assert.deepEqual(await percentages(team), ["50", "80", "90"], "10 is below a percentage that was warned about");
  await manage(team.wallet, "PATCH", team.budget, { alerts: [] });
  await search(team);
  assert.deepEqual(await percentages(team), ["50", "80", "90", "budget.spent"]);
});

test("a search that reaches several percentages warns about each", async () => {
  const team = await createTeam({ amount: "0.01", alerts: [1, 50, 99] });
  await search(team);
  assert.deepEqual(await percentages(team), ["1", "50", "99", "budget.spent"]);
});

test("a budget of test keys sends no warning", async () => {
  const team = await createTeam();
  const rehearsal = { mode: "test", name: "rehearsal", amount: "0.01", period: "total" };
  const { id } = (await manage(team.wallet, "POST", "/v1/budgets", rehearsal)).body;
  const limitsId = await seedKeyLimits(db.owner, team.wallet.walletId, { shared: [id] }, "test");
  const { key } = await createTestKey(db, { walletId: team.wallet.walletId, mode: "test", limitsId });
  assert.deepEqual(await search({ ...team, key }, 2), [200, 403]);
  assert.deepEqual(await received(team), []);
});

test("an e-mail is sent for each warning and for the spent budget, without secrets", async () => {
  const team = await createTeam({ amount: "0.05", alerts: [80] });
  await manage(team.wallet, "PUT", "/v1/wallet/alerts", { email: "owner@example.com", low_balance: null });
  await search(team, 5);
  await fixture.send({ hasEmail: true });
  const mailer = createEmailSender({ smtpUrl: mail.url, from: "Pennyblack <alerts@search.test>" });
  const onFailure = (failure: unknown): void => assert.fail(String(failure));
  await sendAlertEmails(
    { pool: db.worker, mailer, topUpUrl: "https://search.test/top-up", publicUrl: "https://search.test", onFailure },
    10,
  );
  const sent = mail.emails.map(({ raw }) => raw).toSorted();
  const expected: [RegExp, RegExp][] = [
    [
      /^Subject: Budget research in test is spent$/m,
      /0\.05 USD of the 0\.05 USD of the shared budget research are spent/,
    ],
    [
      /^Subject: Budget research in test: 80% spent$/m,
      /0\.04 USD of the 0\.05 USD of the shared budget research are spent/,
    ],
  ];
  assert.equal(sent.length, expected.length);
  for (const patterns of expected)
    assert.ok(
      sent.some((raw) => patterns.every((pattern) => pattern.test(raw))),
      sent.join("\n\n"),
    );
  for (const raw of sent) assert.doesNotMatch(raw, /pb_(live|test|mgmt)_|whsec_/);
});
