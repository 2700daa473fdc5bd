import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { test } from "node:test";
import { Check } from "typebox/value";
import { createFixture, type Fixture } from "../../test/fixture.ts";
import { until } from "../../test/support/assertions/until.ts";
import { closeAfter } from "../../test/support/close-after.ts";
import { operators, operatorToken } from "../../test/support/services/server.ts";
import { statusSchema } from "../status/status-schema.ts";
import { reconcile as reconcileDatabase, saveReport } from "../wallet/wallet.ts";
import { find, margin, reconcile, status, statusPage } from "./fleet-commands.ts";
import { type FleetCell, FleetFault, readFleet } from "./operator-client.ts";

// Two cells, each with its own database and server, and the commands that read both.

const folder = await mkdtemp(join(tmpdir(), "pennyblack-fleet-"));
closeAfter({ close: () => rm(folder, { recursive: true, force: true }) });
const fixtures = [await startCell(), await startCell()];
const [first, second] = fixtures as [Fixture, Fixture];
const cells = readFleet(
  write("fleet.json", {
    cells: [
      { name: "eu1", url: `${first.server.opsUrl}/`, tokenFile: basename(write("token", operatorToken)) },
      { name: "us1", url: second.server.opsUrl, tokenFile: join(folder, "token") },
    ],
  }),
);
const unreachable = { name: "ap1", url: "http://127.0.0.1:9", tokenFile: join(folder, "token") };

test("status lists the load, the customer balance and the problems of every cell", async () => {
  await first.createWallet("12.50");
  const { text, isHealthy } = await status(cells);
  assert.match(text, /^ +cell +version +servers +searches\/s +in flight +customer balance +state$/m);
  // Without Redis there may be more servers.
  assert.match(text, /^ +eu1 +\d+\.\d+\.\d+ +1\+ +0\.0 +0 +12\.50 +\d+ open$/m);
  // No worker runs in this test.
  assert.match(text, /^ +us1 +page +No worker is running$/m);
  assert.equal(isHealthy, false);
});

test("reconcile reports cells that never ran it, ran it long ago, or have differences", async () => {
  assert.match((await reconcile(cells)).text, /^ +eu1 +never run$/m);
  for (const { db } of fixtures) await saveReport(db.owner, await reconcileDatabase(db.owner));
  const clean = await reconcile(cells);
  assert.deepEqual([clean.isHealthy, clean.text.match(/ clean$/gm)?.length], [true, 2], clean.text);
  const late = await reconcile(cells, Date.now() + 3 * 3_600_000);
  assert.deepEqual([late.isHealthy, /eu1 .* clean, but older than two hours$/m.test(late.text)], [false, true]);
  await second.db.owner.query("update pb.reconciliations set differences = 3");
  const different = await reconcile(cells);
  assert.deepEqual([different.isHealthy, /us1 .* 3 differences$/m.test(different.text)], [false, true]);
});

test("margin adds up all cells", async () => {
  for (const [index, { db }] of fixtures.entries())
    await db.owner.query(
      `insert into pb.upstream_days (day, provider, outcome, calls, cost_micros, paid_cost_micros, revenue_micros)
       values (pb.utc_day(now()), 'brave', 'ok', 10, $1, $1, $2)`,
      [50_000 * (index + 1), 100_000 * (index + 1)],
    );
  const { text, isHealthy } = await margin(cells, 30);
  assert.match(text, /^ +us1 +10 +0\.20 +0\.10 +0\.10$/m);
  assert.match(text, /^ +total +20 +0\.30 +0\.15 +0\.15$/m);
  assert.equal(isHealthy, true);
});

test("a look-up queries every cell and names those that could not be reached", async () => {
  const { live, walletId } = await second.createWallet("1.00");
  const id = (await second.server.search(live, { query: "cats" })).headers.get("request-id") ?? "";
  const { text, isHealthy } = await find([...cells, unreachable], { text: id });
  assert.match(text, /^eu1\n\nUnknown id\. No search, refusal/);
  assert.match(text, /\nus1\n\nrequest +/);
  for (const line of [
    /^state +captured$/m,
    /^upstreams +searxng$/m,
    /^parts +auth \d+, hold \d+, upstream \d+, rank \d+, ledger \d+$/m,
    /^ap1\n\nnot reachable$/m,
  ])
    assert.match(text, line);
  assert.equal(isHealthy, false);
  const byKey = await find(cells, { text: live, from: "2020-01-01", outcome: "ok" });
  assert.match(byKey.text, /^eu1\n\nNothing found\./);
  assert.match(byKey.text, new RegExp(`^ +${walletId} +test `, "m"));
  assert.match(byKey.text, new RegExp(` ${id} +search +ok +0\\.01 `));
  assert.equal(byKey.isHealthy, true);
});

test("the status page of all cells adds up their counts, and shows a cell that cannot be read", async () => {
  for (const { db } of fixtures) {
    await until("the server has reported that it runs", async () => {
      const { rows } = await db.owner.query("select from pb.process_reports where kind = 'server'");
      return rows.length > 0;
    });
  }
  for (const [index, { db }] of fixtures.entries()) {
    await db.owner.query(
      `insert into pb.status_days (day, outcome, requests)
       values (pb.utc_day(now()), 'ok', $1), (pb.utc_day(now()), 'upstream_error', $2)`,
      index === 0 ? [96, 0] : [3, 1],
    );
    await db.owner.query(
      "insert into pb.latency_days (day, up_to_ms, searches, slow_searches) values (pb.utc_day(now()), $1, $2, 0)",
      index === 0 ? [200, 95] : [900, 4],
    );
  }
  const page = { folder, publicUrl: "https://api.example.com" };
  const { text, isHealthy } = await statusPage([...cells, unreachable], page);
  assert.match(text, /^ +eu1 +operational$/m);
  assert.match(text, /^ +ap1 +not reachable$/m);
  assert.equal(isHealthy, false);
  const status = JSON.parse(await readFile(join(folder, "status.json"), "utf8"));
  assert.ok(Check(statusSchema, status));
  assert.deepEqual(status.days.at(-1), {
    day: new Date().toISOString().slice(0, 10),
    availability: 0.99,
    p95_ms: 200,
  });
  assert.deepEqual(
    status.cells?.map(({ name, state, availability }) => [name, state, availability]),
    [
      ["eu1", "operational", 1],
      ["us1", "operational", 0.75],
      ["ap1", "unavailable", null],
    ],
  );
  assert.equal(status.state, "unavailable");
  assert.match(
    await readFile(join(folder, "index.html"), "utf8"),
    /Status of api\.example\.com[^]*In at least one cell/,
  );
  assert.deepEqual(
    (await readdir(folder)).filter((name) => name.startsWith(".")),
    [],
  );
  assert.equal((await statusPage(cells, page)).isHealthy, true);
});

test("a cell that cannot be read is reported, and the others are still shown", async () => {
  const wrongToken = { ...cells[0], name: "wrong", tokenFile: write("wrong", "x".repeat(40)) } as FleetCell;
  for (const command of [status, reconcile, (all: FleetCell[]) => margin(all, 1)]) {
    const { text, isHealthy } = await command([...cells, unreachable, wrongToken]);
    assert.match(text, /^ +eu1 /m);
    assert.match(text, /^ +ap1 +not reachable$/m);
    assert.match(text, /^ +wrong +the token is not accepted$/m);
    assert.equal(isHealthy, false);
  }
});

test("a list of cells with a fault is rejected", () => {
  for (const [content, message] of [
    ["token", /is not valid JSON$/],
    [{ cells: [] }, /lists no cells/],
    [{ cells: [unreachable, unreachable] }, /names a cell twice/],
    [{ cells: [{ name: "eu1", url: "http://127.0.0.1" }] }, /needs name, url and tokenFile/],
    [{ cells: [{ ...unreachable, url: "10.0.0.1:9090" }] }, /url of ap1 must start with/],
  ] as const)
    assert.throws(
      () => readFleet(write("bad.json", content)),
      (error) => error instanceof FleetFault && message.test(error.message),
    );
  assert.throws(() => readFleet(join(folder, "missing.json")), /missing\.json cannot be read$/);
});

function startCell(): Promise<Fixture> {
  return createFixture(({ operatorUrl }) => ({
    PENNYBLACK_OPERATOR_DATABASE_URL: operatorUrl,
    PENNYBLACK_OPERATORS: operators,
  }));
}

/** Returns the path of the file. */
function write(name: string, content: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}
