import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createFixture } from "../../test/fixture.ts";
import { closeAfter } from "../../test/support/close-after.ts";
import { listen } from "../../test/support/services/listen.ts";
import { operators, operatorToken, startTestServer } from "../../test/support/services/server.ts";

// The list of cells on the internal listener: this cell reads itself, another one and some that cannot be read.

const folder = await mkdtemp(join(tmpdir(), "pennyblack-cells-"));
closeAfter({ close: () => rm(folder, { recursive: true, force: true }) });
const otherToken = "operator-token-of-the-other-cell-0123456789";
const {
  db,
  server: other,
  startServer,
  createWallet,
} = await createFixture(({ operatorUrl }) => ({
  PENNYBLACK_OPERATOR_DATABASE_URL: operatorUrl,
  PENNYBLACK_OPERATORS: `alice:${otherToken}`,
}));
write("other.token", `${otherToken}\n`);
write("wrong.token", "x".repeat(40));

const silentRequests: string[] = [];
const silent = await serve(({ url = "" }) => silentRequests.push(url));
const stalled = await serve((_request, reply) => reply.write('{"servers":'));
const asked: string[] = [];
const html = await serve(({ url = "" }, reply) => {
  asked.push(url);
  reply.end("<h1>It works</h1>");
});
const redirecting = await serve((_request, reply) => reply.writeHead(302, { location: other.opsUrl }).end());
const faults = {
  silent: [silent, "other.token", "no response"],
  stalled: [stalled, "other.token", "no response"],
  html: [html, "other.token", "the response is not valid"],
  redirecting: [redirecting, "other.token", "returned 302"],
  down: ["http://127.0.0.1:9", "other.token", "not reachable"],
  wrong: [other.opsUrl, "wrong.token", "the token is not accepted"],
  missing: [other.opsUrl, "missing.token", "the token file cannot be read"],
} as const;

const cells = [
  { name: "us2", url: other.opsUrl, tokenFile: "other.token" },
  ...Object.entries(faults).map(([name, [url, tokenFile]]) => ({ name, url, tokenFile })),
];
const settings = { PENNYBLACK_OPERATORS: operators, PENNYBLACK_FLEET: write("fleet.json", { cells }) };
const server = await startServer(settings);

test("a cell is shown with its load, its problems and the money of its customers", async () => {
  const { walletId, live } = await createWallet("5.00");
  await createWallet("2.50");
  assert.equal((await other.search(live, { query: "cats" })).status, 200);
  await db.owner.query(
    `insert into pb.usage_days (wallet_id, key_id, mode, day, category, outcome, was_held, searches, charged_micros)
     select wallet_id, id, mode, pb.utc_day(now()), '', 'ok', true, 3, 30000 from pb.keys
     where wallet_id = $1 and mode = 'live'`,
    [walletId],
  );
  const { status, body } = await server.operate("cells/us2");
  assert.equal(status, 200);
  const { versions, searches_per_second: rate, items, ...rest } = body;
  assert.deepEqual(rest, {
    name: "us2",
    fault: null,
    servers: 1,
    is_complete: false,
    in_flight: 0,
    customer_balance: "7.49",
    charged_today: "0.03",
  });
  assert.match(versions.join(), /^\d+\.\d+\.\d+$/);
  assert.equal(typeof rate, "number");
  // No worker runs in this test.
  assert.ok(items.some(({ title }: { title: string }) => title === "No worker is running"));
});

test("a cell that cannot be read is shown with the reason, and does not delay the others", async () => {
  assert.deepEqual(
    (await server.operate("cells")).body.cells.map(({ name }: { name: string }) => name),
    ["us2", ...Object.keys(faults)],
  );
  const finished: string[] = [];
  const results = await Promise.all(
    [...Object.keys(faults), "us2"].map(async (name) => {
      const { status, body } = await server.operate(`cells/${name}`);
      finished.push(name);
      assert.equal(status, 200, name);
      return [name, body.fault];
    }),
  );
  const expected = Object.entries(faults).map(([name, [, , fault]]) => [name, fault]);
  assert.deepEqual(results, [...expected, ["us2", null]]);
  assert.deepEqual(finished.slice(-2).toSorted(), ["silent", "stalled"]);
  // Only the request for this cell has read it.
  assert.deepEqual(silentRequests.toSorted(), ["/operator/attention", "/operator/money", "/operator/servers"]);
});

test("a look-up is passed on to a cell, which records it, and names a cell that cannot be reached", async () => {
  const { walletId, live } = await createWallet("5.00");
  const id = (await other.search(live, { query: "cats" })).headers.get("request-id") ?? "";
  const { name, url, fault, found } = (await server.operate(`cells/us2/find?text=${id}`)).body;
  assert.deepEqual([name, url, fault], ["us2", other.opsUrl, null]);
  assert.deepEqual([found.request.request_id, found.request.state, found.wallets[0].id], [id, "captured", walletId]);
  const listed = (await server.operate(`cells/us2/find?text=${walletId}&from=2020-01-01&outcome=ok`)).body;
  assert.deepEqual(
    listed.found.searches.map((search: { request_id: string }) => search.request_id),
    [id],
  );
  const unknown = (await server.operate(`cells/us2/find?text=${crypto.randomUUID()}`)).body;
  assert.match(unknown.found.unknown, /^No search, refusal/);
  const { rows } = await db.owner.query("select operator, act from pb.changes where wallet_id = $1", [walletId]);
  assert.deepEqual(rows, [{ operator: "alice", act: "account.view" }]);
  // The rest of the key is its secret.
  asked.length = 0;
  assert.equal((await server.operate(`cells/html/find?text=${live}`)).body.fault, "the response is not valid");
  assert.deepEqual(asked, [`/operator/find?text=${live.slice(0, "pb_live_".length + 4)}`]);
  assert.deepEqual((await server.operate("cells/down/find?text=cats")).body.fault, "not reachable");
  assert.equal((await server.operate("cells/us2/find?text=a")).status, 400);
  assert.equal((await server.operate("cells/none/find?text=cats")).status, 404);
});

test("no token is logged or returned", async () => {
  const replies = await Promise.all(["cells", "cells/us2", "cells/wrong"].map((path) => server.operate(path)));
  const returned = replies.map(({ text }) => text).join();
  assert.match(server.logged(), /"route":"\/operator\/cells\/:name"/);
  for (const token of [otherToken, operatorToken, "x".repeat(40)])
    assert.ok(!`${returned}${server.logged()}${other.logged()}`.includes(token));
});

test("a cell whose database is unavailable is shown with that problem", async (t) => {
  const unreachable = new URL(db.operatorUrl);
  unreachable.port = "1";
  const broken = await startServer({ PENNYBLACK_OPERATOR_DATABASE_URL: unreachable.href }, t);
  const list = write("broken.json", { cells: [{ name: "us2", url: broken.opsUrl, tokenFile: "other.token" }] });
  const reader = await startServer({ ...settings, PENNYBLACK_FLEET: list }, t);
  const { fault, servers, customer_balance: balance, items } = (await reader.operate("cells/us2")).body;
  assert.deepEqual([fault, servers, balance, items[0].title], [null, 1, null, "Database unavailable"]);
});

test("without PENNYBLACK_FLEET there are no cells", async (t) => {
  const alone = await startServer({ PENNYBLACK_OPERATORS: operators }, t);
  assert.deepEqual((await alone.operate("cells")).body, { cells: [] });
  assert.equal((await alone.operate("cells/us2")).status, 404);
});

test("only operators see the cells", async () => {
  for (const path of ["cells", "cells/us2", "cells/us2/find?text=cats"])
    assert.equal((await server.operate(path, undefined, otherToken)).status, 401, path);
});

test("a server does not start with a list that has a fault", async () => {
  const start = (text: string) =>
    startTestServer(db, { PENNYBLACK_OPERATORS: operators, PENNYBLACK_FLEET: write("bad.json", text) });
  await assert.rejects(start("{}"), /bad\.json lists no cells$/);
  await assert.rejects(start(operatorToken), /bad\.json is not valid JSON$/);
});

async function serve(handle: RequestListener): Promise<string> {
  return closeAfter(await listen(createServer(handle))).url;
}

/** Returns the path of the file. */
function write(name: string, content: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}
