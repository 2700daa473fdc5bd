import assert from "node:assert/strict";
import { hostname } from "node:os";
import { after, type TestContext, test } from "node:test";
import { createFixture } from "../fixture.ts";
import { until } from "../support/assertions/until.ts";
import { connectMcp, revisions } from "../support/clients/mcp-clients.ts";
import { operators, testEnvironment } from "../support/services/server.ts";
import { failServerProcess } from "../support/services/server-process.ts";

// The facts in a log line about a request: who sent it, which server answered, which upstreams were queried and where the time
// went. The test's output shows the lines.

const { db, upstream, server, createWallet } = await createFixture(({ operatorUrl }) => ({
  PENNYBLACK_OPERATOR_DATABASE_URL: operatorUrl,
  PENNYBLACK_OPERATORS: operators,
}));
const wallet = await createWallet("1.00");

// oxlint-disable-next-line typescript/no-explicit-any -- lines of every shape.
type Line = Record<string, any>;

/** The line of a response by its route, the first after a position in the log. */
async function lineOf(route: string, isExpected: (line: Line) => boolean = () => true, from = 0): Promise<Line> {
  const find = (): Line | undefined =>
    server
      .logged()
      .slice(from)
      .split("\n")
      .filter((text) => text !== "")
      .map((text) => JSON.parse(text) as Line)
      .find((line) => line["route"] === route && isExpected(line));
  await until(`the response of ${route} is logged`, () => find() !== undefined);
  return find() ?? assert.fail();
}

const caller = { wallet: wallet.walletId, key: wallet.liveKeyId, mode: "live" };

function pick(line: Line, ...names: string[]): Line {
  return Object.fromEntries(names.map((name) => [name, line[name]]));
}

test("a search is logged with its caller, process, upstreams and steps", async (t) => {
  const { headers } = await server.search(wallet.live, { query: "cats" });
  const line = await lineOf("/v1/search", ({ requestId }) => requestId === headers.get("request-id"));
  t.diagnostic(JSON.stringify(line));
  assert.deepEqual(pick(line, "wallet", "key", "mode"), caller);
  assert.deepEqual(pick(line, "hostname", "pid", "method", "status", "outcome", "charge"), {
    hostname: hostname(),
    pid: process.pid,
    method: "POST",
    status: 200,
    outcome: "ok",
    charge: "0.01;currency=usd",
  });
  assert.deepEqual(pick(line, "transport", "kind", "upstreams"), {
    transport: "http",
    kind: "search",
    upstreams: "searxng",
  });
  assert.deepEqual(Object.keys(line["steps"]), ["auth", "hold", "upstream", "capture"]);
  const timing = Object.entries(line["steps"]).map(([step, ms]) => `${step};dur=${Number(ms).toFixed(1)}`);
  assert.equal(timing.join(", "), headers.get("server-timing"));
});

test("a failed search is logged with why its upstream failed", async () => {
  await upstream.behave("status_500");
  const { headers } = await server.search(wallet.live, { query: "cats" });
  await upstream.behave("ok");
  const line = await lineOf("/v1/search", ({ requestId }) => requestId === headers.get("request-id"));
  assert.deepEqual(pick(line, "msg", "outcome", "charge", "kind", "upstreams"), {
    msg: "request failed",
    outcome: "upstream_error",
    charge: "0.00;currency=usd",
    kind: "search",
    upstreams: "searxng:status_500",
  });
});

test("a refusal is logged with its caller", async (t) => {
  await server.search(wallet.live, { query: "cats", limit: 3 });
  const refused = await lineOf("/v1/search", ({ outcome }) => outcome === "invalid_request");
  t.diagnostic(JSON.stringify(refused));
  assert.deepEqual(pick(refused, "wallet", "key", "mode", "kind"), { ...caller, kind: "refusal" });
  // Of a key that exists.
  assert.equal((await server.manage(wallet.live, "GET", "/v1/wallet")).body.code, "insufficient_scope");
  const refusedRead = await lineOf("/v1/wallet");
  assert.deepEqual(pick(refusedRead, "wallet", "key"), { wallet: caller.wallet, key: caller.key });
  // The key is unknown, and so is the wallet.
  await server.search("pb_live_nonsense", { query: "cats" });
  const unknown = await lineOf("/v1/search", ({ outcome }) => outcome === "api_key_invalid");
  assert.deepEqual(pick(unknown, "wallet", "key"), { wallet: undefined, key: undefined });
});

for (const revision of revisions) {
  test(`${revision}: a call of the tool is logged like a search`, async (t) => {
    const from = server.logged().length;
    const client = await connectMcp(revision, server.url, wallet.live);
    after(() => client.close());
    await client.listTools();
    const { isError } = await client.call("web_search", { query: "cats", n: 2 });
    assert.equal(isError, false);
    const line = await lineOf("/mcp", ({ upstreams }) => upstreams !== undefined, from);
    t.diagnostic(JSON.stringify(line));
    assert.deepEqual(pick(line, "wallet", "key", "mode"), caller);
    assert.deepEqual([line["transport"], line["kind"], line["upstreams"]], ["mcp", "search", "searxng"]);
    const other = await lineOf("/mcp", ({ transport }) => transport === undefined, from);
    assert.deepEqual([other["wallet"], other["key"]], [caller.wallet, caller.key]);
  });
}

test("a request of an operator is logged with its name and what came of it", async () => {
  await server.operate(`wallets/${crypto.randomUUID()}`);
  const line = await lineOf("/operator/wallets/:id");
  assert.deepEqual(pick(line, "operator", "method", "status"), { operator: "alice", method: "GET", status: 404 });
});

/** The only line of a process that exits before it has started. */
async function failStart(t: TestContext, environment: Record<string, string>, entryPoint?: string): Promise<Line> {
  const { exitCode, output } = await failServerProcess(environment, entryPoint);
  assert.equal(exitCode, 1, output);
  const lines = output.trim().split("\n");
  assert.equal(lines.length, 1, output);
  t.diagnostic(lines[0] ?? "");
  return JSON.parse(lines[0] ?? "") as Line;
}

const ports = { PORT: "0", PENNYBLACK_OPS_PORT: "0" };
const silent = { ...testEnvironment(db), ...ports, PENNYBLACK_LOG_LEVEL: "silent" };
const crash = `import http from "node:http"; import { syncBuiltinESMExports } from "node:module";
  http.createServer = () => { throw Object.assign(new Error("planted"), { input: "a query" }); }; syncBuiltinESMExports();`;
const crashing = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(crash)}` };

test("a server that cannot start logs the cause and the next step as JSON, even with logging off or for an unexpected error", async (t) => {
  const faults = await failStart(t, { ...silent, DATABASE_URL: "mysql://db/x", PENNYBLACK_SERVERS: "-1" });
  assert.deepEqual([faults["level"], faults["msg"], faults["faults"].length], [60, "cannot start", 2]);
  assert.match(faults["faults"][0], /^DATABASE_URL must /);
  const refused = await failStart(t, { ...silent, DATABASE_URL: db.ownerUrl });
  assert.match(refused["faults"][0], /pennyblack_owner owns the ledger's schema/);
  const busy = await failStart(t, { ...silent, PENNYBLACK_OPS_PORT: new URL(server.opsUrl).port });
  assert.match(busy["faults"][0], /PENNYBLACK_OPS_PORT/);
  const crashed = await failStart(t, { ...silent, ...crashing });
  assert.deepEqual([crashed["level"], crashed["msg"], crashed["err"].message], [60, "crashed", "planted"]);
});

test("a worker that cannot start logs the cause and the next step as JSON, even with logging off or for an unexpected error", async (t) => {
  const worker = "jobs/main.ts";
  const urls = { PENNYBLACK_WORKER_DATABASE_URL: db.workerUrl, PENNYBLACK_DIRECT_DATABASE_URL: db.ownerUrl };
  const faults = await failStart(t, { ...silent, ...urls, PENNYBLACK_WORKER_DATABASE_URL: "mysql://db/x" }, worker);
  assert.deepEqual([faults["level"], faults["msg"]], [60, "cannot start"]);
  assert.match(faults["faults"][0], /^PENNYBLACK_WORKER_DATABASE_URL must /);
  const refused = await failStart(t, { ...silent, ...urls, PENNYBLACK_WORKER_DATABASE_URL: db.ownerUrl }, worker);
  assert.match(refused["faults"][0], /pennyblack_owner owns the ledger's schema/);
  const busy = await failStart(t, { ...silent, ...urls, PENNYBLACK_OPS_PORT: new URL(server.opsUrl).port }, worker);
  assert.match(busy["faults"][0], /PENNYBLACK_OPS_PORT/);
  const crashed = await failStart(t, { ...silent, ...urls, ...crashing }, worker);
  assert.deepEqual([crashed["level"], crashed["err"].message], [60, "planted"]);
});
