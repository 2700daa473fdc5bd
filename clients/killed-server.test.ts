import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { after, mock, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Pennyblack, PennyblackError } from "../sdk/src/sdk.ts";
import { until } from "../server/test/support/assertions/until.ts";
import { createCli } from "../server/test/support/clients/run-cli.ts";
import { readCodeBlocks } from "../server/test/support/docs/read-code-blocks.ts";
import { createTestDatabase } from "../server/test/support/services/database.ts";
import { createTestWallet, type TestWallet } from "../server/test/support/services/server.ts";
import { startServerProcess } from "../server/test/support/services/server-process.ts";
import { startHostileUpstream } from "../server/test/support/upstreams/hostile-upstream.ts";

// Both clients with real servers. A server is killed during a search, before and after the charge. The client retries on
// the other server and the wallet is charged once.

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

const python = fileURLToPath(new URL("python/", import.meta.url));

/** Runs a Python program with the client and returns what it prints. */
async function runPython(wallet: TestWallet, url: string, args: string[]): Promise<string> {
  const env = {
    PATH: "/usr/bin:/bin",
    PYTHONPATH: `${python}src`,
    PYTHONDONTWRITEBYTECODE: "1",
    PENNYBLACK_URL: url,
    PENNYBLACK_API_KEY: wallet.live,
    PENNYBLACK_MANAGEMENT_KEY: wallet.management,
  };
  return (await promisify(execFile)("/usr/bin/python3", args, { env, timeout: 60_000 })).stdout;
}

async function runScenario(wallet: TestWallet, url: string, ...args: string[]): Promise<Record<string, unknown>> {
  return JSON.parse(await runPython(wallet, url, [`${python}tests/scenario.py`, ...args])) as Record<string, unknown>;
}

/** A load balancer that forwards connections to the first server until it has died, then to the second. */
async function startBalancer() {
  const sockets: Socket[] = [];
  const balancer = createServer((socket) => {
    const { hostname, port } = new URL(first.process.signalCode === null ? first.url : second.url);
    const target = connect(Number(port), hostname);
    sockets.push(socket);
    for (const each of [socket, target]) {
      each.on("error", () => {});
      each.on("close", () => socket.destroy() && target.destroy());
    }
    socket.pipe(target).pipe(socket);
  }).listen(0, "127.0.0.1");
  await once(balancer, "listening");
  const close = () => {
    for (const socket of sockets) socket.destroy();
    balancer.close();
  };
  return { url: `http://127.0.0.1:${(balancer.address() as AddressInfo).port}`, sockets, close };
}

async function charges(wallet: TestWallet): Promise<string[]> {
  const manager = new Pennyblack({ apiKey: wallet.management, baseUrl: second.url });
  const { items } = await manager.entries().page();
  return items.filter(({ kind }) => kind === "search").map(({ amount }) => amount);
}

test("wait is the deadline of the whole call: TypeScript, Python and the CLI have one upstream call each", async () => {
  const wallet = await createTestWallet(db, "0.05");
  await upstream.behave("ok_when_released");
  upstream.requests.length = 0;
  const cli = createCli();
  const error = await new Pennyblack({ apiKey: wallet.live, baseUrl: second.url })
    .search("cats", { wait: 1 })
    .catch((reason: unknown) => reason);
  assert.ok(error instanceof PennyblackError && error.is("upstream_timeout"));
  assert.deepEqual([error.problem.deadline_set_by, error.retryable, error.charged], ["caller", false, false]);
  assert.equal(upstream.requests.length, 1);
  assert.deepEqual(await runScenario(wallet, second.url, "wait"), {
    error: "UpstreamError upstream_timeout charged=False",
    retryable: false,
  });
  assert.equal(upstream.requests.length, 2);
  const printed = await cli.run(["search", "cats", "--wait", "1"], {
    PENNYBLACK_URL: second.url,
    PENNYBLACK_API_KEY: wallet.live,
  });
  assert.equal(printed.code, 1, "a failure that a retry does not change");
  assert.match(printed.err, /the deadline you set .* You were not charged\./);
  assert.equal(upstream.requests.length, 3);
  cli.remove();
  await upstream.behave("ok");
  assert.deepEqual(await charges(wallet), []);
});

test("a charged response lost in transit is replayed by the other server", async () => {
  const wallet = await createTestWallet(db, "0.05");
  let attempts = 0;
  const lossyFetch: typeof fetch = async (_, init) => {
    attempts += 1;
    const response = await fetch(`${(attempts === 1 ? first : second).url}/v1/search`, init);
    if (attempts > 1) return response;
    await response.text();
    throw new TypeError("fetch failed");
  };
  const client = new Pennyblack({ apiKey: wallet.live, baseUrl: first.url, fetch: lossyFetch });
  const { meta, results } = await client.search("cats", { n: 3 });
  assert.deepEqual([results.length, meta.replayed, meta.charge, attempts], [3, true, "0.00", 2]);
  assert.deepEqual(await charges(wallet), ["-0.01"]);
});

test("20 identical searches with repeat, from two clients on two servers, have one upstream call and one charge", async () => {
  const wallet = await createTestWallet(db, "0.50");
  await upstream.behave("slow_headers", { everyMs: 300 });
  upstream.requests.length = 0;
  const clients = [first, second].map(({ url }) => new Pennyblack({ apiKey: wallet.live, baseUrl: url }));
  // In one window, even if the hour changes during the test.
  mock.method(Date, "now", () => Date.UTC(2026, 0, 1, 12, 30));
  const answers = await Promise.all(
    Array.from({ length: 10 }).flatMap(() =>
      clients.map((client) => client.search(" penny black", { n: 3, repeat: "1h" })),
    ),
  ).finally(() => mock.reset());
  await upstream.behave("ok");
  assert.equal(upstream.requests.length, 1);
  assert.equal(new Set(answers.map(({ results }) => JSON.stringify(results))).size, 1);
  assert.equal(answers.filter(({ meta }) => !meta.replayed && meta.charge === "0.01").length, 1);
  assert.equal(answers.filter(({ meta }) => meta.replayed && meta.charge === "0.00").length, 19);
  assert.deepEqual(await charges(wallet), ["-0.01"]);
});

test("repeat charges again for another search, another window and another secret", async () => {
  const wallet = await createTestWallet(db, "0.50");
  const options = { apiKey: wallet.live, baseUrl: second.url };
  const search = async (now: number, n: number, repeatSecret: string) => {
    mock.method(Date, "now", () => now);
    const client = new Pennyblack({ ...options, repeatSecret });
    return (await client.search("penny black", { n, repeat: "20m" }).finally(() => mock.reset())).meta.charge;
  };
  const end = Date.UTC(2026, 0, 1, 12, 20);
  const charged = [
    await search(end - 1, 3, "a"),
    await search(end - 1_199_999, 3, "a"),
    await search(end, 3, "a"),
    await search(end, 4, "a"),
    await search(end, 4, "b"),
  ];
  assert.deepEqual(charged, ["0.01", "0.00", "0.01", "0.01", "0.01"]);
});

test("the Python clients search, manage keys and read the wallet", async () => {
  const wallet = await createTestWallet(db, "0.05");
  assert.deepEqual(await runScenario(wallet, second.url, "sync"), {
    first: ["penny black", 3, "0.01", false],
    replay: [true, "0.00", true],
    budget: "BudgetError run_budget_spent charged=False",
    invalid: "RequestError invalid_request charged=False",
    scope: "PermissionError insufficient_scope charged=False",
    charges: ["-0.01"],
    entries: ["search -0.01", "search -0.01", "top_up 0.05"],
    key: [true, "0.99"],
    updated: "renamed",
    revoked: "revoked",
    keys: ["agent", "live", "management", "renamed", "test"],
    searches: [2],
    balance: "0.03",
  });
  const repeats = await createTestWallet(db, "0.05");
  assert.deepEqual(await runScenario(repeats, second.url, "async"), {
    charged: ["0.00", "0.01"],
    keys: 1,
    entries: ["-0.01"],
  });
});

test("the Python client has the rest of the API for a management key", async () => {
  const wallet = await createTestWallet(db, "1.00");
  assert.deepEqual(await runScenario(wallet, second.url, "management"), {
    listed: [true],
    found: ["0.01", "nightly", 1],
    runs: [["nightly", "0.01", "0.05"]],
    summary: "0.99",
    alerts: "0.50",
    "end users": ["plain", "plain"],
    webhook: [true, true],
    updated: false,
    webhooks: ["owner"],
    got: ["key.created"],
    deleted: true,
    receipt: 2,
    "signing keys": ["EdDSA"],
    export: 3,
    proof: "RequestError not_found charged=False",
    top_up: "ServerError payments_not_configured charged=False",
    top_ups: [],
    "no receipt": "RequestError not_found charged=False",
    "no top_up": "RequestError not_found charged=False",
    auto: "none",
    "auto set": "ServerError payments_not_configured charged=False",
    "auto deleted": "none",
    lens: ["base", true, true],
    tier: "A",
    states: ["live active", "mgmt active", "test active"],
  });
});

test("a search with repeat in Python is free after the same search in TypeScript", async () => {
  const wallet = await createTestWallet(db, "0.05");
  const client = new Pennyblack({ apiKey: wallet.live, baseUrl: second.url });
  const { meta } = await client.search("größe 🐈", { n: 3, repeat: "24h" });
  const repeated = await runScenario(wallet, second.url, "repeat", "größe 🐈 ");
  assert.deepEqual(repeated, { charge: "0.00", key: meta.idempotencyKey });
});

test("every code block in the Python README runs", async () => {
  const wallet = await createTestWallet(db, "0.20");
  const blocks = readCodeBlocks(new URL("python/README.md", import.meta.url), "python");
  assert.ok(blocks.length >= 4, `${blocks.length} blocks`);
  await Promise.all(blocks.map((block) => runPython(wallet, second.url, ["-c", block])));
});

test("after a server is killed mid-search, the retries of both clients succeed and are charged once", async () => {
  const wallets = [await createTestWallet(db, "0.05"), await createTestWallet(db, "0.05")] as const;
  const balancer = await startBalancer();
  await upstream.behave("ok_when_released");
  upstream.requests.length = 0;
  const inPython = runScenario(wallets[0], balancer.url, "one-search");
  await until("the upstream receives a request", () => upstream.requests.length === 1);
  const inTypeScript = new Pennyblack({ apiKey: wallets[1].live, baseUrl: balancer.url }).search("dogs", { n: 3 });
  for (const search of [inPython, inTypeScript]) search.catch(() => {});
  await until("the upstream receives the other request", () => upstream.requests.length === 2);
  await upstream.behave("ok");
  first.process.kill("SIGKILL");
  await first.ended;
  await until("both clients retry on the other server", () => balancer.sockets.length >= 4);
  // A dead server's claim can be taken over after 15 s. Backdate them instead of waiting.
  await db.owner.query(
    "update pb.idempotency set claimed_at = claimed_at - interval '16 s' where wallet_id = any($1)",
    [wallets.map(({ walletId }) => walletId)],
  );
  const { meta, results } = await inTypeScript;
  assert.deepEqual([results.length, meta.replayed, meta.charge], [3, false, "0.01"]);
  assert.deepEqual(await inPython, { length: 3, charge: "0.01", replayed: false });
  balancer.close();
  for (const wallet of wallets) assert.deepEqual(await charges(wallet), ["-0.01"]);
});

test("with no server listening, the error reports that nothing was charged", async () => {
  const wallet = await createTestWallet(db, "0.05");
  const client = new Pennyblack({ apiKey: wallet.live, baseUrl: first.url, maxRetries: 1 });
  const error = await client.search("cats").catch((reason: unknown) => reason);
  assert.ok(error instanceof PennyblackError);
  assert.deepEqual([error.code, error.charged], ["connection_closed", false]);
});
