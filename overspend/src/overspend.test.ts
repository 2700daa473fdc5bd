import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { after, type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { expireHolds } from "../../server/src/wallet/statements.ts";
import { until } from "../../server/test/support/assertions/until.ts";
import { closeAfter } from "../../server/test/support/close-after.ts";
import { createTestDatabase, type TestDatabase } from "../../server/test/support/services/database.ts";
import { createTestWallet } from "../../server/test/support/services/server.ts";
import { type ServerProcess, startServerProcess } from "../../server/test/support/services/server-process.ts";
import { startHostileUpstream } from "../../server/test/support/upstreams/hostile-upstream.ts";
import { createNaiveGateway } from "../example/naive-gateway.ts";
import { parseTarget, type Target } from "./target.ts";
import { formatReport, type Report, testBudget } from "./test-budget.ts";

// Set PENNYBLACK_TEST_OVERSPEND_CALLS=5000 for the published figures.
const calls = Number(process.env["PENNYBLACK_TEST_OVERSPEND_CALLS"] ?? 600);
const budget = 100;
const maxKills = calls > 1_000 ? 10 : 2;
const options = {
  calls,
  budget,
  concurrency: 64,
  retryMs: 600_000,
  drop: 0.05,
  timeoutMs: 15_000,
  onProgress: () => undefined,
};

function readTarget(name: string, environment: Record<string, string>): Target {
  return parseTarget(readFileSync(new URL(`../targets/${name}.json`, import.meta.url), "utf8"), environment);
}

/** Runs the target against a server that is killed, and started again, while calls are in flight. */
async function testPennyblack(t: TestContext, targetName: string, setUp: SetUp): Promise<Report> {
  const db = await createTestDatabase();
  after(() => db.drop());
  const upstream = closeAfter(await startHostileUpstream());
  const settings = { PENNYBLACK_SEARXNG_URL: upstream.url };
  let server: ServerProcess = await startServerProcess(db, settings);
  const { port } = new URL(server.url);
  const environment = { PENNYBLACK_URL: server.url, ...(await setUp(db, server.url)) };

  const resting = new AbortController();
  let kills = 0;
  const killing = (async () => {
    while (kills < maxKills && !resting.signal.aborted) {
      // After some searches of this server, so that it is killed with searches in flight.
      const seen = upstream.requests.length;
      const isDue = (): boolean => upstream.requests.length >= seen + 5 || resting.signal.aborted;
      await until("the server has searched, or all calls have ended", isDue);
      server.process.kill("SIGKILL");
      await server.ended;
      kills += 1;
      server = await startServerProcess(db, { ...settings, PORT: port });
    }
  })();
  const report = await testBudget(readTarget(targetName, environment), {
    ...options,
    async rest() {
      resting.abort();
      await killing;
      // As the worker does 60 seconds after a hold.
      await db.owner.query("update pb.searches set expires_at = held_at where state = 'pending'");
      await expireHolds(db.owner, 1_000);
    },
  });
  t.diagnostic(`${kills} kills\n${formatReport(report)}`);
  assert.ok(kills > 0);
  return report;
}

/** Creates the account to spend, and returns the environment variables of the target. */
type SetUp = (db: TestDatabase, url: string) => Promise<Record<string, string>>;

test("Pennyblack spends its budget exactly, with dropped connections and killed servers", async (t) => {
  const report = await testPennyblack(t, "pennyblack", async (db) => {
    const wallet = await createTestWallet(db, "1.00");
    return { PENNYBLACK_API_KEY: wallet.live, PENNYBLACK_MANAGEMENT_KEY: wallet.management };
  });
  assert.ok(report.isExact, formatReport(report));
  assert.equal(report.charged, budget);
});

test("Pennyblack spends what another key left of a shared budget exactly", async (t) => {
  const report = await testPennyblack(t, "pennyblack-budget", async (db, url) => {
    const wallet = await createTestWallet(db, "5.00");
    const post = async (path: string, key: string, body: object): Promise<{ id: string; key: string }> => {
      const headers = { "x-api-key": key, "content-type": "application/json" };
      const response = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
      assert.equal(response.status, 200, path);
      return (await response.json()) as { id: string; key: string };
    };
    const fields = { mode: "live", name: "team", amount: "1.05", period: "total" };
    const { id } = await post("/v1/budgets", wallet.management, fields);
    const createKey = (name: string) => post("/v1/keys", wallet.management, { mode: "live", name, budgets: [id] });
    const [other, own] = [await createKey("other"), await createKey("own")];
    for (let spent = 0; spent < 5; spent += 1) await post("/v1/search", other.key, { query: "cats" });
    const keys = { PENNYBLACK_API_KEY: own.key, PENNYBLACK_MANAGEMENT_KEY: wallet.management };
    return { ...keys, PENNYBLACK_BUDGET: id };
  });
  assert.ok(report.isExact, formatReport(report));
  assert.equal(report.charged, budget);
});

test("the naive gateway overspends, and the command reports it", async (t) => {
  const gateway = createNaiveGateway(1).listen(0, "127.0.0.1");
  after(() => gateway.close());
  await once(gateway, "listening");
  const { port } = gateway.address() as AddressInfo;
  const program = new URL("main.ts", import.meta.url).pathname;
  const file = new URL("../targets/http.json", import.meta.url).pathname;
  const run = promisify(execFile)(
    process.execPath,
    [program, file, "--budget", "100", "--calls", String(calls), "--json"],
    {
      env: { ...process.env, GATEWAY_URL: `http://127.0.0.1:${port}`, GATEWAY_KEY: "any" },
    },
  );
  const failure: unknown = await run.then(
    () => assert.fail("the command must exit with 1"),
    (error: unknown) => error,
  );
  assert.ok(failure instanceof Error && "stdout" in failure && "code" in failure);
  assert.equal(failure.code, 1);
  const report = JSON.parse(String(failure.stdout));
  t.diagnostic(JSON.stringify(report));
  assert.ok(report.overspent > 0);
  assert.equal(report.admitted, budget + report.overspent);
  assert.equal(report.charged, report.admitted);
});

test("a target file with a fault, and a variable that is not set, are reported", () => {
  assert.throws(() => readTarget("pennyblack", {}), /Set the environment variable PENNYBLACK_URL/);
  assert.throws(() => parseTarget("{", {}), /not JSON/);
  assert.throws(
    () => parseTarget('{"name":"a","request":{"url":"u"},"refused":{"status":402}}', {}),
    /refused\.status/,
  );
  assert.ok(readTarget("litellm", { LITELLM_URL: "http://a", LITELLM_KEY: "k" }).account);
});
