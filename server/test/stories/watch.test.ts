import assert from "node:assert/strict";
import { randomBytes, randomUUIDv7 } from "node:crypto";
import { test } from "node:test";
import { createOpsServer } from "../../src/http/ops-server.ts";
import { createLog } from "../../src/telemetry/log.ts";
import { expireHolds, holdBatch } from "../../src/wallet/statements.ts";
import { reconcile } from "../../src/wallet/upkeep/reconcile.ts";
import { saveReport } from "../../src/wallet/wallet.ts";
import { createFixture } from "../fixture.ts";
import { until } from "../support/assertions/until.ts";
import { operators, operatorToken, type Reply } from "../support/services/server.ts";

// The operator's pages on the internal listener, with a session cookie.

const token = operatorToken;
const { db, upstream, server, startServer, createWallet } = await createFixture(({ operatorUrl }) => ({
  PENNYBLACK_OPERATOR_DATABASE_URL: operatorUrl,
  PENNYBLACK_OPERATORS: operators,
}));
const wallet = await createWallet("1.00");

const request = (path: string, init?: RequestInit, base = server.opsUrl): Promise<Reply> =>
  server.request(path, init, base);

const operate = async (path: string): Promise<Reply["body"]> => (await server.operate(path)).body;

function signIn(base?: string) {
  const headers = { "content-type": "application/json" };
  return request("/operator/session", { method: "POST", headers, body: JSON.stringify({ token }) }, base);
}

const cookieOf = ({ headers }: { headers: Headers }): string => (headers.get("set-cookie") ?? "").split(";")[0] ?? "";

test("a browser signs in with a token, uses the session cookie, and signs out", async () => {
  assert.deepEqual((await request("/operator/session")).body, { operator: null });
  const signedIn = await signIn();
  assert.deepEqual([signedIn.status, signedIn.headers.get("cache-control")], [204, "no-store"]);
  const cookie = cookieOf(signedIn);
  assert.deepEqual((await request("/operator/session", { headers: { cookie } })).body, { operator: "alice" });
  assert.equal((await request("/operator/wallets", { headers: { cookie } })).status, 200);

  const resume = (headers: Record<string, string>) =>
    request(`/operator/wallets/${wallet.walletId}/resume`, {
      method: "POST",
      headers: { cookie, "content-type": "application/json", ...headers },
      body: JSON.stringify({ reason: "a test" }),
    });
  assert.equal((await resume({})).status, 401, "without the header");
  assert.equal((await resume({ "x-pennyblack-csrf": "1", origin: "http://evil.test" })).status, 401);
  assert.equal((await resume({ "x-pennyblack-csrf": "1" })).status, 200);
  assert.equal((await operate("audit")).lines[0].operator, "alice");

  const signedOut = await request("/operator/session", { method: "DELETE", headers: { cookie } });
  assert.equal(signedOut.status, 204);
  assert.match(signedOut.headers.get("set-cookie") ?? "", /^pennyblack_operator=; Max-Age=0;/);
});

test("a wrong token does not create a session", async () => {
  for (const body of ['{"token":"wrong"}', "{}", "token", `{"token":"${token}","more":1}`]) {
    const headers = { "content-type": "application/json" };
    const refused = await request("/operator/session", { method: "POST", headers, body });
    assert.ok([400, 401].includes(refused.status), body);
    assert.equal(refused.headers.get("set-cookie"), null);
  }
  assert.ok(!server.logged().includes(token));
});

test("a session is valid only on servers with the same secret and token", async (t) => {
  const cookie = cookieOf(await signIn());
  const whoIs = async (changes: Record<string, string>): Promise<unknown> => {
    const other = await startServer(changes, t);
    return (await request("/operator/session", { headers: { cookie } }, other.opsUrl)).body.operator;
  };
  assert.equal(await whoIs({}), "alice");
  assert.equal(await whoIs({ PENNYBLACK_SECRET: randomBytes(32).toString("base64") }), null);
  assert.equal(await whoIs({ PENNYBLACK_OPERATORS: `alice:${"x".repeat(40)}` }), null);
  assert.equal(await whoIs({ PENNYBLACK_OPERATORS: `bob:${token}` }), null);
});

test("the public listener has no operator routes", async () => {
  const cookie = cookieOf(await signIn());
  for (const path of ["session", "servers", "system", "attention", "upstreams"]) {
    assert.equal((await request(`/operator/${path}`, { headers: { cookie } }, server.url)).status, 404, path);
  }
  assert.equal((await signIn(server.url)).status, 404);
});

test("without operators there are no sessions, and every request is rejected", async (t) => {
  const other = await startServer({ PENNYBLACK_OPERATORS: "" }, t);
  assert.equal((await signIn(other.opsUrl)).status, 404);
  assert.equal((await request("/operator/system", {}, other.opsUrl)).status, 401);
});

test("pages on the internal listener are public and cannot be framed", async () => {
  const ops = createOpsServer({
    log: createLog("silent"),
    whyNotReady: async () => undefined,
    renderMetrics: async () => "",
    pages: [
      { method: "GET", path: "/console/*", handle: async (_request, reply) => reply.type("text/html").send("<p>") },
    ],
  });
  try {
    const { statusCode, headers, body } = await ops.inject({ method: "GET", url: "/console/upstreams" });
    assert.deepEqual([statusCode, body, headers["x-content-type-options"]], [200, "<p>", "nosniff"]);
    assert.match(String(headers["content-security-policy"]), /frame-ancestors 'none'/);
  } finally {
    await ops.close();
  }
});

test("the path of a runbook redirects to the docs of the public listener", async () => {
  const { status, headers } = await fetch(`${server.opsUrl}/docs/runbooks/books-differ`, { redirect: "manual" });
  assert.deepEqual([status, headers.get("location")], [302, "http://search.test/docs/runbooks/books-differ"]);
});

const thisServer = async (): Promise<Reply["body"]> => (await operate("servers")).servers[0];

test("every server lists all servers of the database with their load", async (t) => {
  const redis = { REDIS_URL: process.env["PENNYBLACK_TEST_REDIS_URL"] ?? "redis://127.0.0.1:6379" };
  const [first, second] = [await startServer({ ...redis, PENNYBLACK_SERVERS: "3" }, t), await startServer(redis, t)];
  await until("both are listed", async () => (await first.operate("servers")).body.servers.length === 2);
  for (let count = 0; count < 4; count += 1) await second.search(wallet.live, { query: "cats" });
  await searchOverMcp(second.url, wallet.live);
  await until("the second one's searches are listed by the first", async () => {
    const { servers, is_complete: isComplete } = (await first.operate("servers")).body;
    const [own, other] = servers;
    return isComplete && own.recent.searches === 0 && other?.recent.searches === 5;
  });
  const [, other] = (await first.operate("servers")).body.servers;
  assert.deepEqual([other.in_flight, other.recent.own_errors, other.recent.upstream_errors], [0, 0, 0]);
  assert.ok(other.recent.p95_ms > 0 && other.version && other.uptime_s > 0);
  const { items } = (await first.operate("attention")).body;
  const titles = items.map(({ title }: { title: string }) => title);
  assert.ok(titles.includes("1 server of 3 not reporting"), titles.join("\n"));
});

async function searchOverMcp(url: string, key: string): Promise<void> {
  const params = { name: "web_search", arguments: { query: "cats" } };
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  });
  assert.equal(response.headers.get("wallet-charge"), "0.01;currency=usd", await response.text());
}

test("the system pages report this server and the shared database", async () => {
  await server.search(wallet.live, { query: "cats" });
  await expireHolds(db.owner, 10);
  await db.owner.query("select pb.report_worker($1, '{}', '{sweep}', '{3600}', '{sweep}', true)", [randomUUIDv7()]);
  const system = await operate("system");
  const own = await thisServer();
  assert.equal(own.load.length, 3);
  assert.ok(own.memory_mb > 10 && own.event_loop_ms_p99 >= 0);
  assert.deepEqual([own.in_flight, own.ledger_waiting], [0, 0]);
  assert.equal(system.backup, null, "the role cannot read the last backup");
  assert.ok(system.db.connections > 0 && system.db.max >= system.db.connections && system.db.size_mb > 0);
  assert.ok(system.partitions_ahead >= 13, String(system.partitions_ahead));
  assert.equal(system.oldest_pending_s, null);
  assert.ok(Math.abs(Date.parse(system.worker_last_seen) - Date.now()) < 60_000, system.worker_last_seen);
  await until("the search is in the rate", async () => (await thisServer()).searches_per_second > 0);

  await upstream.behave("slow_headers");
  const leaving = new AbortController();
  const waiting = server.search(wallet.live, { query: "cats" }, {}, leaving.signal).catch(() => undefined);
  await until("the search is in flight", async () => {
    const { oldest_pending_s: oldest } = await operate("system");
    return (await thisServer()).in_flight === 1 && oldest !== null;
  });
  leaving.abort();
  await waiting;
  await upstream.behave("ok");
  await until("the search has ended", async () => (await thisServer()).in_flight === 0);
});

test("upstreams are listed with hourly counts and the day's cost and revenue", async () => {
  await upstream.behave("ok");
  await server.search(wallet.live, { query: "cats" });
  await until("the server has written its counts", async () => {
    const [found] = (await operate("upstreams")).upstreams;
    return (found.hours.at(-1)?.calls ?? 0) > 0 && found.today.revenue !== "0.00";
  });
  const [found] = (await operate("upstreams")).upstreams;
  assert.deepEqual([found.name, found.circuit.state, found.hours.length], ["searxng", "closed", 24]);
  const { start, failures, p95_ms: p95 } = found.hours.at(-1);
  assert.ok(Date.now() - Date.parse(start) < 7_200_000 && failures === 0 && p95 > 0);
  assert.equal(found.today.margin, found.today.revenue, "SearXNG costs nothing");
});

test("the attention list describes each issue and is empty when there is none", async () => {
  await expireHolds(db.owner, 10);
  await db.owner.query("update pb.worker_tasks set reported_at = now() + interval '1 hour'");
  await saveReport(db.owner, await reconcile(db.owner));
  await db.owner.query("update pb.usage_watermark set counted_before = clock_timestamp()");
  assert.deepEqual((await operate("attention")).items, []);

  const titles = async (): Promise<string[]> =>
    (await operate("attention")).items.map(({ title }: { title: string }) => title);
  await upstream.behave("status_503");
  for (let count = 0; count < 3; count += 1) await server.search(wallet.live, { query: "cats" });
  assert.deepEqual(await titles(), ["searxng is failing"]);
  await upstream.behave("ok");
  await until(
    "the upstream has recovered",
    async () => (await server.search(wallet.live, { query: "cats" })).status === 200,
  );

  const searchId = randomUUIDv7();
  await holdBatch(db.ledger, [{ searchId, walletId: wallet.walletId, keyId: wallet.liveKeyId }]);
  await db.owner.query("update pb.searches set held_at = held_at - interval '10 minutes' where id = $1", [searchId]);
  await db.owner.query("update pb.worker_tasks set reported_at = now() - interval '10 minutes'");
  await db.owner.query("update pb.reconciliations set differences = 2");
  await db.owner.query("update pb.usage_watermark set counted_before = clock_timestamp() - interval '20 minutes'");
  await db.owner.query(
    `insert into pb.events (id, wallet_id, type, data, created_at, due_at)
     values ($1, $2, 'wallet.low_balance', '{}', now() - interval '10 minutes', now() - interval '10 minutes')`,
    [randomUUIDv7(), wallet.walletId],
  );
  await db.owner.query("insert into pb.abandoned_calls values (now(), $1, 21, 105000, 0)", [wallet.walletId]);
  const found = await titles();
  assert.equal(found.length, 6);
  assert.match(
    found.join("\n"),
    /^Reconciliation found 2 differences\nA hold has been pending for 6\d\d seconds\nNo worker is running\nUsage is 20 minutes behind\nWebhooks are 10 minutes late\nWallet .* 2\d unpaid upstream calls costing \$0.105 /,
  );
});

test("an unreachable database is reported in the attention list", async (t) => {
  const unreachable = new URL(db.operatorUrl);
  unreachable.port = "1";
  const other = await startServer({ PENNYBLACK_OPERATOR_DATABASE_URL: unreachable.href }, t);
  const { status, body } = await other.operate("attention");
  assert.deepEqual([status, body.items.map(({ title }: { title: string }) => title)], [200, ["Database unavailable"]]);
});

test("an OpenID Connect provider that does not respond is reported, and WAL that is not archived", async (t) => {
  const other = await startServer(
    {
      PENNYBLACK_OPERATORS: operators,
      PENNYBLACK_OPERATOR_DATABASE_URL: db.operatorUrl,
      PENNYBLACK_PUBLIC_URL: "https://search.test",
      PENNYBLACK_OIDC_ISSUER: "http://127.0.0.1:1",
      PENNYBLACK_OIDC_CLIENT_ID: "pennyblack",
    },
    t,
  );
  const titles = async (): Promise<string[]> =>
    (await other.operate("attention")).body.items.map(({ title }: { title: string }) => title);
  await until("the provider was checked", async () =>
    (await titles()).includes("The OpenID Connect provider does not respond"),
  );
  assert.ok((await titles()).includes("WAL archiving is off"));
  assert.match(await other.readMetrics(), /^pennyblack_dependency_up\{dependency="oidc"\} 0$/m);
  assert.doesNotMatch(await server.readMetrics(), /dependency="oidc"/, "none is configured");
});
