import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { createFixture, type Fixture } from "../../test/fixture.ts";
import { until } from "../../test/support/assertions/until.ts";
import { closeAfter } from "../../test/support/close-after.ts";
import { testAct } from "../../test/support/data/test-act.ts";
import { runHaproxy } from "../../test/support/services/haproxy.ts";
import { listen } from "../../test/support/services/listen.ts";
import { createTestKey } from "../../test/support/services/server.ts";
import { choosePort } from "../dev/choose-port.ts";
import { dialects } from "../dialects/dialects.ts";
import { type Cell, type Edge, EdgeFault, edgeFiles } from "./edge-config.ts";
import { nameCell } from "./name-cell.ts";

// Two cells, each with its own database and server, behind the real HAProxy.

const exampleFolder = new URL("../../../deploy/edge/", import.meta.url);
const exampleOptions = { bind: ":443", folder: "/etc/haproxy" };
const example = JSON.parse(readFileSync(new URL("cells.json", exampleFolder), "utf8")) as Edge;

const [eu1, us1] = [await startCell("eu1"), await startCell("us1")];
const broken = await startBrokenCell();
const edge = await startEdge({
  defaultCell: "eu1",
  cells: { eu1: describe("eu1", eu1.server), us1: describe("us1", us1.server), xx1: describe("xx1", broken) },
});
const cells = [eu1, us1];

test("the files in deploy/edge are those of its list of cells", () => {
  for (const [name, content] of Object.entries(edgeFiles(example, exampleOptions)))
    assert.equal(readFileSync(new URL(name, exampleFolder), "utf8"), content, `run npm run edge: ${name}`);
});

test("a search is charged in the cell that the key names", async () => {
  for (const [index, cell] of cells.entries()) {
    const { live, management } = await cell.createWallet("1.00");
    assert.match(live, new RegExp(`^pb_live_${["eu1", "us1"][index]}[0-9a-f]{7}_`));
    assert.equal(await searchStatus({ authorization: `Bearer ${live}` }), 200);
    assert.equal((await cell.server.readMoney(management)).balance, "0.99");
  }
});

test("the key is found in every header that a dialect accepts", async () => {
  const { live, management } = await us1.createWallet("1.00");
  const basic = Buffer.from(`any:${live}`).toString("base64");
  const places: Record<string, string>[] = [
    { authorization: `bearer ${live}` },
    { "x-api-key": live },
    ...dialects.flatMap(({ keyHeader }) => (keyHeader === undefined ? [] : [{ [keyHeader]: live }])),
  ];
  for (const headers of places) {
    const { status } = await fetch(`${edge.url}/compat/brave/res/v1/web/search?q=cats`, { headers });
    assert.equal(status, 200, Object.keys(headers).join());
  }
  const searxng = `${edge.url}/compat/searxng/search?q=cats&format=json`;
  assert.equal((await fetch(searxng, { headers: { authorization: `Basic ${basic}` } })).status, 200);
  assert.equal((await us1.server.readMoney(management)).balance, (1 - (places.length + 1) / 100).toFixed(2));
});

test("other requests go to the cell of their host name, or to the default cell", async () => {
  const readUrl = async (host: string): Promise<string> =>
    (await edge.request("GET /.well-known/security.txt", { host })).split("\r\n").at(-1) ?? "";
  assert.match(await readUrl("US1.example.com:443"), /us1\.example\.com/);
  assert.match(await readUrl("api.example.com"), /eu1\.example\.com/);
  // Not the whole form of a labelled key.
  for (const key of ["pb_live_us1aaaaaaa", `pb_live_us1aaaaaaa_${"0".repeat(35)}`, "pb_live_nonsense"])
    assert.match(await edge.request("GET /.well-known/security.txt", { "x-api-key": key }), /eu1\.example\.com/);
});

test("a caller cannot forge its address", async () => {
  const { walletId } = await eu1.createWallet("1.00");
  const { key } = await createTestKey(eu1.db, { walletId, allowedIps: ["203.0.113.7/32"] });
  const headers = { "x-api-key": key, "x-forwarded-for": "203.0.113.7" };
  assert.equal(await searchStatus(headers), 403);
  assert.equal((await eu1.server.search(key, { query: "cats" }, headers)).status, 200, "as a trusted proxy");
});

test("the log contains no query and no key", async () => {
  const { live } = await eu1.createWallet("1.00");
  const path = "/compat/searxng/search";
  const countLines = (): number => edge.log().split(path).length;
  const before = countLines();
  await fetch(`${edge.url}${path}?format=json&q=canary`, { headers: { "x-api-key": live } });
  await until("the request is logged", async () => countLines() > before);
  assert.doesNotMatch(edge.log(), /canary|pb_live/);
});

test("too many requests without a key are rejected; requests with a key are not", async () => {
  const { live } = await eu1.createWallet("1.00");
  const replies = await Promise.all(Array.from({ length: 120 }, () => fetch(`${edge.url}/openapi.json`)));
  const rejected = replies.filter(({ status }) => status === 429);
  assert.ok(rejected.length >= 20 && rejected.length <= 110, `${rejected.length} of 120`);
  assert.deepEqual([await readProblem(rejected[0]), rejected[0]?.headers.get("retry-after")], ["rate_limited", "1"]);
  assert.equal(await searchStatus({ "x-api-key": live }), 200);
});

test("only a complete key exempts a request from the limit of requests without a key", async () => {
  // Allows no request without a key, so that the result does not depend on speed.
  const strict = await startEdge(edgeOf(eu1), (config) => config.replace(/gt 50 }$/m, "gt 0 }"));
  const statusWith = async (headers: Record<string, string>): Promise<string> =>
    (await strict.request("GET /openapi.json", headers)).slice(9, 12);
  const random = "0".repeat(36);
  for (const key of [
    "pb_",
    "pb_live_",
    `pb_live_${random}0`,
    `pb_live_${random.slice(1)}`,
    `pb_other_${random}`,
    `pb_live_US1aaaaaaa_${random}`,
  ]) {
    assert.equal(await statusWith({ "x-api-key": key }), "429", key);
    assert.equal(await statusWith({ authorization: `Bearer ${key}` }), "429", key);
  }
  assert.equal(await statusWith({}), "429");
  for (const key of [`pb_live_${random}`, `pb_test_us1aaaaaaa_${random}`, `pb_mgmt_${random}`])
    assert.equal(await statusWith({ "x-api-key": key }), "200", key);
});

test("all requests from one address have a limit, also those with a key", async () => {
  const strict = await startEdge(edgeOf(eu1), (config) => config.replace(/gt 5000 }$/m, "gt 0 }"));
  const { live } = await eu1.createWallet("1.00");
  const reply = await strict.request("GET /openapi.json", { "x-api-key": live });
  assert.match(reply, /^HTTP\/1\.1 429/);
  assert.match(reply, /Too many requests from your address\. You were not charged\./);
});

test("an unavailable cell is reported as not charged, and the other cell is not affected", async () => {
  const [first, second] = [await eu1.createWallet("1.00"), await us1.createWallet("1.00")];
  await us1.server.close();
  await until("HAProxy has noticed", async () => (await searchStatus({ "x-api-key": second.live })) === 503);
  const reply = await search({ "x-api-key": second.live });
  assert.deepEqual([await readProblem(reply), reply.headers.get("retry-after")], ["ledger_unavailable", "5"]);
  assert.equal(await searchStatus({ "x-api-key": first.live }), 200);
});

test("a connection that a server closes without a response is closed without a response, after one attempt", async () => {
  const requests = broken.requests();
  assert.equal(await edge.request("POST /v1/search", { "x-api-key": `pb_live_xx1aaaaaaa_${"0".repeat(36)}` }), "");
  assert.equal(broken.requests(), requests + 1);
});

test("a list of cells with a fault is rejected", () => {
  const { eu1: cell } = example.cells as { eu1: Cell };
  const faults: [Partial<Edge>, RegExp][] = [
    [{ cells: { europe: cell } }, /"europe" is not a cell name/],
    [{ cells: { eu1: { ...cell, servers: [] } } }, /eu1 has no servers/],
    [{ cells: { eu1: { ...cell, servers: ["10.0.0.1:8080\n  bad"] } } }, /is not host:port/],
    [{ cells: { eu1: { ...cell, host: "x y" } } }, /is not a host name/],
    [{ defaultCell: "ap1" }, /there is no cell ap1/],
  ];
  for (const [change, message] of faults)
    assert.throws(
      () => edgeFiles({ ...example, ...change }, exampleOptions),
      (error) => error instanceof EdgeFault && message.test(error.message),
    );
});

async function startCell(name: string): Promise<Fixture> {
  const cell = await createFixture({
    PENNYBLACK_PUBLIC_URL: `http://${name}.example.com`,
    PENNYBLACK_TRUSTED_PROXIES: "127.0.0.1",
    PENNYBLACK_SECURITY_CONTACT: `mailto:security@${name}.example.com`,
  });
  await nameCell(cell.db.owner, name, testAct);
  assert.equal(await cell.server.app.checkDatabase(), undefined);
  return cell;
}

/** Reads requests, and then closes the connection, as a server does that does not know whether a search was charged. */
async function startBrokenCell(): Promise<{ url: string; opsUrl: string; requests: () => number }> {
  let requests = 0;
  const server = createServer((request, response) => {
    if (request.url === "/readyz") return void response.end("{}");
    requests += 1;
    request.resume().once("end", () => request.socket.destroy());
  });
  const { url } = closeAfter(await listen(server));
  return { url, opsUrl: url, requests: () => requests };
}

function describe(name: string, { url, opsUrl }: { url: string; opsUrl: string }): Cell {
  return { host: `${name}.example.com`, servers: [new URL(url).host], opsPort: Number(new URL(opsUrl).port) };
}

function edgeOf(cell: Fixture): Edge {
  return { defaultCell: "eu1", cells: { eu1: describe("eu1", cell.server) } };
}

async function startEdge(
  cellList: Edge,
  change = (config: string): string => config,
): Promise<{
  url: string;
  folder: string;
  log: () => string;
  /** A raw request, because fetch does not set a Host header. */
  request: (line: string, headers: Record<string, string>) => Promise<string>;
}> {
  const folder = await mkdtemp(join(tmpdir(), "pennyblack-edge-"));
  closeAfter({ close: () => rm(folder, { recursive: true, force: true }) });
  const port = await choosePort({ host: "127.0.0.1" });
  const files = edgeFiles(cellList, { bind: `127.0.0.1:${port}`, folder });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  // A cell that is slow on a busy machine is not down.
  const config = files["haproxy.cfg"].replace("timeout check 2s", "timeout check 60s");
  writeFileSync(join(folder, "haproxy.cfg"), change(config));
  const url = `http://127.0.0.1:${port}`;
  const { log } = await runHaproxy(join(folder, "haproxy.cfg"), url);
  return {
    url,
    folder,
    log,
    request: (line, headers) => {
      const lines = Object.entries({ host: "api.example.com", connection: "close", ...headers });
      const socket = connect(port, "127.0.0.1");
      // Left open: a client that closes its side during the request is answered with 400.
      socket.write(`${line} HTTP/1.1\r\n${lines.map((pair) => `${pair.join(": ")}\r\n`).join("")}\r\n`);
      return text(socket);
    },
  };
}

function search(headers: Record<string, string>): Promise<Response> {
  return fetch(`${edge.url}/v1/search`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: '{"query":"cats"}',
  });
}

async function searchStatus(headers: Record<string, string>): Promise<number> {
  const reply = await search(headers);
  await reply.arrayBuffer();
  return reply.status;
}

/** The code of a problem that is not charged. */
async function readProblem(reply: Response | undefined): Promise<string> {
  assert.equal(reply?.headers.get("content-type"), "application/problem+json");
  const problem = (await reply?.json()) as { code: string; charged: boolean };
  assert.equal(problem.charged, false);
  return problem.code;
}
