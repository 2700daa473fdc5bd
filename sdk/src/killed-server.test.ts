import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase } from "../../server/test/database.ts";
import { startHostileUpstream } from "../../server/test/hostile-upstream.ts";
import { createTestWallet, type TestWallet } from "../../server/test/server.ts";
import { startServerProcess } from "../../server/test/server-process.ts";
import { until } from "../../server/test/until.ts";
import { Pennyblack, PennyblackError } from "./sdk.ts";

// A server dies in the middle of a search, at each of the two moments that matter. The SDK finds the other server, and
// the wallet pays once.

const db = await createTestDatabase();
const upstream = await startHostileUpstream();
const settings = { PENNYBLACK_SEARXNG_URL: upstream.url };
const [first, second] = await Promise.all([startServerProcess(db, settings), startServerProcess(db, settings)]);

after(async () => {
  second.process.kill("SIGKILL");
  await second.ended;
  await upstream.close();
  await db.drop();
});

/** Stands in for a balancer: the first attempt goes to one server, all others to the other one. */
function throughBalancer(wallet: TestWallet, meet: (response: Promise<Response>) => Promise<Response>) {
  let attempts = 0;
  const balance = (url: string, init: RequestInit) => {
    attempts += 1;
    return attempts === 1
      ? meet(fetch(url.replace("http://balancer.test", first.url), init))
      : fetch(url.replace("http://balancer.test", second.url), init);
  };
  const client = new Pennyblack({
    apiKey: wallet.live,
    baseUrl: "http://balancer.test",
    fetch: balance as typeof fetch,
  });
  return { client, attempts: () => attempts };
}

async function charges(wallet: TestWallet): Promise<string[]> {
  const manager = new Pennyblack({ apiKey: wallet.management, baseUrl: second.url });
  const { items } = await manager.entries().page();
  return items.filter(({ kind }) => kind === "search").map(({ amount }) => amount);
}

test("an answer that was paid for and lost on the way is fetched from the other server", async () => {
  const wallet = await createTestWallet(db, "0.05");
  const { client, attempts } = throughBalancer(wallet, async (response) => {
    await (await response).text();
    throw new TypeError("fetch failed");
  });
  const { meta, results } = await client.search("cats", { n: 3 });
  assert.deepEqual([results.length, meta.replayed, meta.charge, attempts()], [3, true, "0.00", 2]);
  assert.deepEqual(await charges(wallet), ["-0.01"]);
});

test("a server killed in the middle of a search: the retry is answered, and one cent is charged", async () => {
  const wallet = await createTestWallet(db, "0.05");
  await upstream.behave("slow_headers", { everyMs: 5_000 });
  upstream.requests.length = 0;
  const { client, attempts } = throughBalancer(wallet, (response) => response);
  const searching = client.search("dogs", { n: 3 });
  searching.catch(() => {});
  await until("the upstream is asked", () => upstream.requests.length === 1);
  await upstream.behave("ok");
  first.process.kill("SIGKILL");
  await first.ended;
  await until("the other server is asked", () => attempts() > 1);
  // The dead server's claim may be taken over after 15 s; that time is made to have passed.
  await db.owner.query("update pb.idempotency set claimed_at = claimed_at - interval '16 s' where wallet_id = $1", [
    wallet.walletId,
  ]);
  const { meta, results } = await searching;
  assert.deepEqual([results.length, meta.replayed, meta.charge], [3, false, "0.01"]);
  assert.deepEqual(await charges(wallet), ["-0.01"]);
});

test("with no server left, the error says what is not known", async () => {
  const wallet = await createTestWallet(db, "0.05");
  const client = new Pennyblack({ apiKey: wallet.live, baseUrl: first.url, maxRetries: 1 });
  const error = await client.search("cats").catch((reason: unknown) => reason);
  assert.ok(error instanceof PennyblackError);
  assert.deepEqual([error.code, error.charged], ["connection_closed", false]);
});
