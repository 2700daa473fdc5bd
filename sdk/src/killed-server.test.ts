import assert from "node:assert/strict";
import { after, test } from "node:test";
import { until } from "../../server/test/support/assertions/until.ts";
import { createTestDatabase } from "../../server/test/support/services/database.ts";
import { createTestWallet, type TestWallet } from "../../server/test/support/services/server.ts";
import { startServerProcess } from "../../server/test/support/services/server-process.ts";
import { startHostileUpstream } from "../../server/test/support/upstreams/hostile-upstream.ts";
import { Pennyblack, PennyblackError } from "./sdk.ts";

// A server is killed during a search, before and after the charge. The SDK retries on the other server and the wallet
// is charged once.

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

/** Simulates a load balancer: the first attempt goes to the first server, retries go to the second. */
function createBalancedClient(wallet: TestWallet, onFirstResponse: (response: Promise<Response>) => Promise<Response>) {
  let attempts = 0;
  const balancedFetch = (url: string, init: RequestInit) => {
    attempts += 1;
    return attempts === 1
      ? onFirstResponse(fetch(url.replace("http://balancer.test", first.url), init))
      : fetch(url.replace("http://balancer.test", second.url), init);
  };
  const client = new Pennyblack({
    apiKey: wallet.live,
    baseUrl: "http://balancer.test",
    fetch: balancedFetch as typeof fetch,
  });
  return { client, attempts: () => attempts };
}

async function charges(wallet: TestWallet): Promise<string[]> {
  const manager = new Pennyblack({ apiKey: wallet.management, baseUrl: second.url });
  const { items } = await manager.entries().page();
  return items.filter(({ kind }) => kind === "search").map(({ amount }) => amount);
}

test("a charged response lost in transit is replayed by the other server", async () => {
  const wallet = await createTestWallet(db, "0.05");
  const { client, attempts } = createBalancedClient(wallet, async (response) => {
    await (await response).text();
    throw new TypeError("fetch failed");
  });
  const { meta, results } = await client.search("cats", { n: 3 });
  assert.deepEqual([results.length, meta.replayed, meta.charge, attempts()], [3, true, "0.00", 2]);
  assert.deepEqual(await charges(wallet), ["-0.01"]);
});

test("after a server is killed mid-search, the retry succeeds and is charged once", async () => {
  const wallet = await createTestWallet(db, "0.05");
  await upstream.behave("slow_headers", { everyMs: 5_000 });
  upstream.requests.length = 0;
  const { client, attempts } = createBalancedClient(wallet, (response) => response);
  const search = client.search("dogs", { n: 3 });
  search.catch(() => {});
  await until("the upstream receives the request", () => upstream.requests.length === 1);
  await upstream.behave("ok");
  first.process.kill("SIGKILL");
  await first.ended;
  await until("the SDK retries on the other server", () => attempts() > 1);
  // A dead server's claim can be taken over after 15 s. Backdate it instead of waiting.
  await db.owner.query("update pb.idempotency set claimed_at = claimed_at - interval '16 s' where wallet_id = $1", [
    wallet.walletId,
  ]);
  const { meta, results } = await search;
  assert.deepEqual([results.length, meta.replayed, meta.charge], [3, false, "0.01"]);
  assert.deepEqual(await charges(wallet), ["-0.01"]);
});

test("with no server listening, the error reports that nothing was charged", async () => {
  const wallet = await createTestWallet(db, "0.05");
  const client = new Pennyblack({ apiKey: wallet.live, baseUrl: first.url, maxRetries: 1 });
  const error = await client.search("cats").catch((reason: unknown) => reason);
  assert.ok(error instanceof PennyblackError);
  assert.deepEqual([error.code, error.charged], ["connection_closed", false]);
});
