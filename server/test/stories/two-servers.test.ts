import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { formatReport, reconcile } from "../../src/wallet/upkeep/reconcile.ts";
import { createTestDatabase } from "../support/services/database.ts";
import { createTestWallet, type TestWallet } from "../support/services/server.ts";
import { startServerProcess } from "../support/services/server-process.ts";
import { startHostileUpstream } from "../support/upstreams/hostile-upstream.ts";

// Budgets and revocations hold across servers: two processes that share nothing but the database.

const db = await createTestDatabase();
const upstream = await startHostileUpstream();
const settings = { PENNYBLACK_SEARXNG_URL: upstream.url, PENNYBLACK_LOG_LEVEL: "warn" };
const servers = await Promise.all([startServerProcess(db, settings), startServerProcess(db, settings)]);

after(async () => {
  for (const { process } of servers) process.kill("SIGTERM");
  await Promise.all(servers.map(({ ended }) => ended));
  await upstream.close();
  await db.drop();
});

const urlOf = (number: number): string => servers[number % servers.length]?.url ?? "";

interface Answer {
  status: number;
  body: Record<string, unknown>;
}

async function ask(url: string, key: string, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(`${url}/v1/search`, {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json", ...headers },
    body: JSON.stringify({ query: "cats" }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

async function manage(url: string, key: string, method: string, path: string, body?: object): Promise<Answer> {
  const response = await fetch(url + path, {
    method,
    headers: { "x-api-key": key, ...(body && { "content-type": "application/json" }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

async function readBalance(wallet: TestWallet): Promise<unknown> {
  const { body } = await manage(urlOf(0), wallet.management, "GET", "/v1/wallet");
  return [body["balance"], body["held"]];
}

async function assertBooksBalance(): Promise<void> {
  const report = await reconcile(db.owner);
  assert.ok(report.isClean, formatReport(report));
}

/** 200 at once, every other on the other server: fifty are paid, the rest say what limit they met. */
async function assertFiftyOf200(key: string, code: string, headers: Record<string, string>): Promise<Answer[]> {
  const answers = await Promise.all(Array.from({ length: 200 }, (_, index) => ask(urlOf(index), key, headers)));
  const refused = answers.filter(({ status }) => status !== 200);
  assert.equal(answers.length - refused.length, 50);
  for (const { status, body } of refused) {
    assert.deepEqual([status, body["code"], body["limit"], body["spent"]], [403, code, "0.50", "0.50"]);
  }
  return refused;
}

test("a run budget of 0.50 under 200 searches at once on two servers: fifty are paid, 150 are 403", async () => {
  const wallet = await createTestWallet(db, "5.00");
  const refused = await assertFiftyOf200(wallet.live, "run_budget_spent", { "search-run": "task; max=0.50; ttl=3600" });
  for (const { body } of refused) {
    const leftMs = Date.parse(String(body["resets_at"])) - Date.now();
    assert.ok(leftMs > 3_500_000 && leftMs <= 3_600_000, String(body["resets_at"]));
  }
  assert.deepEqual(await readBalance(wallet), ["4.50", "0.00"]);
  await assertBooksBalance();
});

test("the same for what a key may spend in a day", async () => {
  const wallet = await createTestWallet(db, "5.00");
  const wish = { mode: "live", name: "agent", budget: { day: "0.50" } };
  const { body: made } = await manage(urlOf(0), wallet.management, "POST", "/v1/keys", wish);
  const refused = await assertFiftyOf200(String(made["key"]), "key_budget_spent", {});
  const midnight = new Date(new Date().setUTCHours(24, 0, 0, 0)).toISOString();
  for (const { body } of refused) assert.equal(body["resets_at"], midnight);
  assert.deepEqual(await readBalance(wallet), ["4.50", "0.00"]);
  const { body: seen } = await manage(urlOf(1), String(made["key"]), "GET", "/v1/key");
  assert.deepEqual(seen["budget"], {
    total: null,
    day: { limit: "0.50", spent: "0.50", resets_at: midnight },
    month: null,
  });
  await assertBooksBalance();
});

test("in 100 revocations while two servers serve, no search that began after one is charged", async (context) => {
  const wallet = await createTestWallet(db, "100.00");
  let paid = 0;
  let refusedAfter = 0;
  for (let trial = 0; trial < 100; trial += 1) {
    const wish = { mode: "live", name: `trial ${trial}` };
    const { body: made } = await manage(urlOf(trial + 1), wallet.management, "POST", "/v1/keys", wish);
    const key = String(made["key"]);
    let isRevoked = false;
    const searches: { beganAfter: boolean; status: number; code: unknown }[] = [];
    const searchOn = async (server: number): Promise<void> => {
      for (let afterwards = 0; afterwards < 2; ) {
        const beganAfter = isRevoked;
        const { status, body } = await ask(urlOf(server), key);
        searches.push({ beganAfter, status, code: body["code"] });
        if (beganAfter) afterwards += 1;
      }
    };
    const searching = Promise.all([0, 1, 0, 1].map(searchOn));
    // Both servers know the key by now and remember it.
    while (searches.length < 4 + (trial % 5)) await setImmediate();
    const revoked = await manage(urlOf(trial), wallet.management, "DELETE", `/v1/keys/${String(made["id"])}`);
    isRevoked = true;
    assert.equal(revoked.status, 200);
    await searching;
    for (const { beganAfter, status, code } of searches) {
      if (status === 200) paid += 1;
      else assert.deepEqual([status, code], [401, "api_key_revoked"]);
      if (beganAfter) assert.equal(status, 401, `trial ${trial}`);
      if (beganAfter) refusedAfter += 1;
    }
  }
  assert.ok(refusedAfter >= 800);
  const { rows } = await db.owner.query<{ captured: number; late: number }>(
    `select count(*) filter (where s.state = 'captured')::integer as captured,
       count(*) filter (where s.held_at > k.revoked_at)::integer as late
     from pb.searches s join pb.keys k on k.id = s.key_id where s.wallet_id = $1`,
    [wallet.walletId],
  );
  assert.deepEqual(rows, [{ captured: paid, late: 0 }]);
  await assertBooksBalance();
  context.diagnostic(`${paid} paid before, ${refusedAfter} refused after 100 revocations`);
});
