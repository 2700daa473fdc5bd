import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomUUIDv7 } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { before, test } from "node:test";
import { revokeKey } from "../../src/keys/keys.ts";
import { openIncident } from "../../src/status/status.ts";
import { captureBatch, holdBatch, topUpBatch } from "../../src/wallet/statements.ts";
import { eventTypes } from "../../src/webhooks/event-types.ts";
import { signMessage } from "../../src/webhooks/sign.ts";
import { closeAfter } from "../support/close-after.ts";
import { seedKeyLimits, seedSharedBudget, windowOf } from "../support/data/seed-wallet.ts";
import { testAct } from "../support/data/test-act.ts";
import { createTestKey, type TestWallet } from "../support/services/server.ts";
import { type Received, startReceiver } from "../support/services/webhook-receiver.ts";
import { createWebhookFixture } from "../support/webhook-fixture.ts";

// The examples and the code in docs/webhooks.md match the deliveries.

const page = readFileSync(new URL("../../../docs/webhooks.md", import.meta.url), "utf8");
const fixture = await createWebhookFixture();
const receiver = closeAfter(await startReceiver());
const secrets = new Map<string, string>();

before(async () => {
  await causeEveryEvent();
  await fixture.send();
});

async function createSubscribedWallet(): Promise<TestWallet> {
  const wallet = await fixture.createWallet();
  const { secret } = await fixture.subscribe(wallet, `${receiver.url}/${wallet.walletId}`);
  secrets.set(`/${wallet.walletId}`, secret);
  return wallet;
}

const topUp = ({ walletId }: TestWallet, amount: bigint, paymentId: string = randomUUIDv7()) =>
  topUpBatch(fixture.db.owner, "top_up", [{ walletId, amount, paymentId }]);

async function search({ walletId }: TestWallet, keyId: string): Promise<void> {
  const items = [{ searchId: randomUUIDv7(), walletId, keyId }];
  await holdBatch(fixture.db.ledger, items);
  await captureBatch(fixture.db.ledger, items);
}

async function causeEveryEvent(): Promise<void> {
  const { owner } = fixture.db;
  const invoiced = await createSubscribedWallet();
  await topUp(invoiced, 20_000_000n, "invoice-2026-117");
  await fixture.emitEvent(invoiced, "top_up.failed", { currency: "usd", amount: "20.00", reason: "card_declined" });

  const low = await createSubscribedWallet();
  await topUp(low, 5_000_000n);
  await fixture.manage(low, "PUT", "/v1/wallet/alerts", { email: null, low_balance: "5.00" });
  await search(low, low.liveKeyId);

  const last = await createSubscribedWallet();
  await topUp(last, 10_000n);
  await search(last, last.liveKeyId);

  const keyed = await createSubscribedWallet();
  await topUp(keyed, 1_000_000n);
  const limitsId = await seedKeyLimits(owner, keyed.walletId, { day: 500_000n });
  const { walletId } = keyed;
  const { id: keyId } = await createTestKey(fixture.db, { walletId, mode: "live", name: "crawler", limitsId });
  await search(keyed, keyId);
  await owner.query(`update pb.budget_windows set spent_micros = 490000 where ${windowOf(limitsId, "day")}`);
  await search(keyed, keyId);
  // As a rotation does.
  await owner.query(
    `insert into pb.keys (id, wallet_id, mode, name, start, pepper_version, digest, scopes, rotated_from)
     select gen_random_uuid(), wallet_id, mode, name, start, pepper_version, sha256(digest), scopes, id
     from pb.keys where id = $1`,
    [keyId],
  );
  await revokeKey(owner, { walletId, keyId });

  const shared = await createSubscribedWallet();
  await topUp(shared, 1_000_000n);
  const seed = { amount: 50_000n, name: "research", period: "week", alerts: [80] };
  const budget = await seedSharedBudget(owner, shared.walletId, seed);
  const sharedLimits = await seedKeyLimits(owner, shared.walletId, { shared: [budget] });
  const agent = {
    mode: "live",
    name: "crawler",
    scopes: ["search", "budgets:request"],
    limitsId: sharedLimits,
  } as const;
  const sharing = await createTestKey(fixture.db, { walletId: shared.walletId, ...agent });
  const request = { budget, amount: "1.00", hours: 24 };
  const asked = await fixture.server.manage(sharing.key, "POST", "/v1/key/budget-requests", request);
  assert.equal(asked.status, 200, asked.text);
  for (let spent = 0; spent < 5; spent += 1) await search(shared, sharing.id);

  const text = "The database is being restored.";
  const incident = { title: "Searches fail", impact: "outage", text, openedAt: undefined } as const;
  await openIncident(fixture.db.operator, testAct, incident);
}

/** The example of an event. */
function exampleOf(type: string): unknown {
  const [, section = ""] = page.split(`### \`${type}\`\n`);
  const [, json] = /^```json\n(.*?)^```$/ms.exec(section.split("\n### ")[0] ?? "") ?? [];
  return JSON.parse(json ?? assert.fail(`${type} has no example`));
}

/** Replaces ids, times and keys, which differ between runs. */
function normalize(event: unknown): string {
  const text = JSON.stringify(event, (_name, value: unknown) =>
    value !== null && typeof value === "object" && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
  return text
    .replaceAll(/"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"/g, '"id"')
    .replaceAll(/"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/g, '"time"')
    .replaceAll(/"pb_live_\w{4}"/g, '"start"');
}

for (const type of eventTypes) {
  test(`the example of ${type} matches the delivery`, () => {
    const sent = receiver.received.filter(({ event }) => event.type === type).map(({ event }) => normalize(event));
    const shown = normalize(exampleOf(type));
    const fix =
      sent.length === 0
        ? `${type} was not sent: cause it in causeEveryEvent of server/test/stories/webhook-docs.test.ts, and emit it in server/sql`
        : "edit server/src/webhooks/event-types.ts to match the delivery, then run npm run generate";
    assert.ok(sent.includes(shown), `${fix}\ndocumented: ${shown}\nsent:       ${sent.join("\n            ")}`);
  });
}

test("the page documents exactly the existing events", () => {
  const shown = [...page.matchAll(/^### `([\w.]+)`$/gm)].map(([, type]) => type);
  assert.deepEqual(shown, [...eventTypes]);
});

function codeIn(language: string): string {
  return new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "ms").exec(page)?.[1] ?? assert.fail(`no ${language}`);
}

/** Genuine and forged calls, each with whether it is valid. */
function genuineAndForgedCalls(): [secret: string, call: Pick<Received, "headers" | "body">, isValid: boolean][] {
  const call = receiver.received.find(({ body }) => body.includes("20.00")) ?? assert.fail();
  const secret = secrets.get(call.path) ?? assert.fail();
  const changed = (name: string, value: string) => ({ ...call, headers: { ...call.headers, [name]: value } });
  const signature = call.headers["webhook-signature"] ?? "";
  const tenMinutesAgo = new Date(Date.now() - 600_000);
  return [
    [secret, call, true],
    [secret, changed("webhook-signature", `v1,${Buffer.alloc(32).toString("base64")} ${signature}`), true],
    [secret, { ...call, body: call.body.replace("20.00", "99.00") }, false],
    [secret, changed("webhook-id", randomUUIDv7()), false],
    [secret, changed("webhook-timestamp", String(Number(call.headers["webhook-timestamp"]) - 600)), false],
    // A genuine call that is replayed ten minutes later.
    [secret, { ...call, headers: signMessage([secret], { id: "1", at: tenMinutesAgo, body: call.body }) }, false],
    [secret, changed("webhook-signature", ""), false],
    [secret, changed("webhook-signature", signature.replace("v1,", "v2,")), false],
    [`whsec_${Buffer.alloc(32).toString("base64")}`, call, false],
  ];
}

test("the TypeScript code of the page accepts genuine calls and rejects forged ones", async () => {
  const folder = mkdtempSync(join(tmpdir(), "pennyblack-verify-"));
  try {
    writeFileSync(join(folder, "verify.ts"), codeIn("ts"));
    const { verify } = (await import(join(folder, "verify.ts"))) as {
      verify: (secret: string, headers: Record<string, string>, body: string) => void;
    };
    for (const [secret, { headers, body }, isValid] of genuineAndForgedCalls()) {
      if (isValid) verify(secret, headers, body);
      else assert.throws(() => verify(secret, headers, body), /invalid webhook signature/);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the Python code of the page accepts genuine calls and rejects forged ones", () => {
  const PYTHONPATH = resolve(import.meta.dirname, "../../../clients/python/src");
  const env = { PYTHONPATH, PYTHONDONTWRITEBYTECODE: "1" };
  for (const [secret, { headers, body }, isValid] of genuineAndForgedCalls()) {
    const run =
      "import json, sys\nsecret, headers, body = json.load(sys.stdin)\nprint(handle(body.encode(), headers, secret))";
    const input = JSON.stringify([secret, headers, body]);
    const options = { input, env, encoding: "utf8" } as const;
    const { stdout, stderr } = spawnSync("/usr/bin/python3", ["-c", `${codeIn("python")}\n${run}`], options);
    assert.match(stdout, isValid ? /\n204\n$/ : /\n400\n$/, stdout + stderr);
  }
});
