import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { createFixture } from "../fixture.ts";
import { until } from "../support/assertions/until.ts";
import { rawRequest, sendRaw } from "../support/raw-http.ts";
import type { Reply } from "../support/services/server.ts";
import { startServerProcess } from "../support/services/server-process.ts";

// Queries and keys appear in no log line, metric, error or table.

const { db, upstream, server, createWallet } = await createFixture();
const wallet = await createWallet("1.00");
const marker = "zanzibar7quagga";
const query = `where is ${marker}`;
const idempotencyKey = "idempotency-zebra-391";

function assertNoSecrets(where: string, text: string): void {
  const secrets = [marker, idempotencyKey, wallet.live, wallet.test, wallet.management];
  // Lists show the first 12 characters of a key; the rest is secret.
  const tails = [wallet.live, wallet.test, wallet.management].map((key) => key.slice(12));
  for (const secret of [...secrets, ...tails]) {
    assert.ok(!text.toLowerCase().includes(secret.toLowerCase()), `${where} contains ${secret}: ${text.slice(0, 400)}`);
  }
}

/** Searches with the marker that succeed or fail in every way. */
async function searchInEveryWay(): Promise<Reply[]> {
  const replies: Reply[] = [];
  const search = async (key: string, body: unknown, headers = {}) =>
    void replies.push(await server.search(key, body, headers));
  for (const behaviour of [
    "ok",
    "empty",
    "status_500",
    "status_404",
    "status_401",
    "truncated_json",
    "redirect",
    "engines_failed",
    "wrong_types",
    "not_http",
    "reset_before_headers",
    "endless_headers",
  ] as const) {
    await upstream.behave(behaviour, { headers: { location: `/${marker}` }, body: `no results for ${query}` });
    await search(wallet.live, { query });
    // Otherwise the circuit would block the next search.
    if (behaviour === "status_401") server.app.reload();
  }
  await upstream.behave("ok");
  await search(wallet.live, { query }, { "idempotency-key": idempotencyKey });
  await search(wallet.live, { query }, { "idempotency-key": idempotencyKey });
  await search(wallet.live, { query: `${query}!` }, { "idempotency-key": idempotencyKey });
  await search(wallet.live, { query, n: 99 });
  await search(wallet.live, { query, category: marker });
  await search(wallet.live, { query: `${query}\u0000` });
  await search(wallet.live, { query: query.repeat(200) });
  await search(wallet.live, `{"query": "${query}"`);
  await search(wallet.live, `{"query": ${query}}`);
  await search(wallet.live, `"${query}"`);
  await search(wallet.live, `{"query": "${query}"}`.repeat(1000));
  await search(wallet.live, { query }, { "content-type": `text/${marker}` });
  await search(wallet.live, { query }, { "search-run": `${marker} run` });
  await search(wallet.live, { query }, { "idempotency-key": `${marker}\u00e9` });
  await search(wallet.live, { query }, { "x-api-key": wallet.test });
  await search(wallet.live.slice(0, -1), { query });
  await search(wallet.management, { query });
  await search(wallet.test, { query });
  await search(wallet.test, { query: "test:internal_error" });
  await search(wallet.test, { query: `test:${marker}` });
  replies.push(await server.request(`/v1/search?q=${marker}&key=${wallet.live}`));
  return replies;
}

test("no log line, metric or error contains a query, a key or an Idempotency-Key", async () => {
  const replies = await searchInEveryWay();
  assert.ok(new Set(replies.map((reply) => reply.status)).size >= 8);
  for (const reply of replies) {
    if (reply.status !== 200) assertNoSecrets(`a ${reply.status}`, reply.text);
    assertNoSecrets("a header", JSON.stringify([...reply.headers]));
  }
  // Requests that no client would send, and malformed HTTP.
  for (const request of [
    rawRequest("POST /v1/search", [`x-api-key: ${wallet.live}`, `Bad ${marker}: x`], JSON.stringify({ query })),
    rawRequest("POST /v1/search", [`x-api-key: ${wallet.live}`, `X-Long: ${marker.repeat(2000)}`]),
    rawRequest("GET /%zz", [`x-api-key: ${wallet.live}`]),
    `${query}\r\n\r\n`,
  ]) {
    assertNoSecrets("the answer to a malformed request", (await sendRaw(server.url, request)).text);
  }
  await until("every answer is logged", () => server.logged().split('"outcome"').length > replies.length);
  assertNoSecrets("the log", server.logged());
  assertNoSecrets("the metrics", await server.readMetrics());
});

test("an internal error is logged with its source file and without the query", async () => {
  await server.search(wallet.test, { query }, { "idempotency-key": idempotencyKey });
  await db.owner.query("update pb.idempotency set answer = '\\x0011223344' where mode = 'test'");
  const { status } = await server.search(wallet.test, { query }, { "idempotency-key": idempotencyKey });
  assert.equal(status, 500);
  await until("the answer is logged", () => server.logged().includes("internal error"));
  assert.match(server.logged(), /idempotency\.ts/);
  assertNoSecrets("the log", server.logged());
});

test("an upstream's 500 is not logged as an internal error", async () => {
  await upstream.behave("status_500");
  const { headers } = await server.search(wallet.live, { query });
  await upstream.behave("ok");
  const requestId = headers.get("request-id") ?? "";
  await until("the answer is logged", () => server.logged().includes(requestId));
  const lines = server.logged().split("\n");
  assert.deepEqual(
    lines.filter((line) => line.includes(requestId) && line.includes("internal error")),
    [],
  );
});

test("every field of a log line is documented with its type", () => {
  const page = readFileSync(new URL("../../../docs/observability.md", import.meta.url), "utf8");
  const documented = new Map(
    [...page.matchAll(/^\| `(\w+)` \| (number|string|object) \|/gm)].map(([, name = "", type = ""]) => [name, type]),
  );
  const lines = server
    .logged()
    .split("\n")
    .filter((line) => line !== "");
  const logged = new Map(
    lines.flatMap((line) => Object.entries(JSON.parse(line) as object).map(([name, value]) => [name, typeof value])),
  );
  assert.deepEqual(
    [...logged].filter(([name, type]) => documented.get(name) !== type),
    [],
  );
  const requestFields = ["requestId", "status", "outcome", "route", "ms", "charge", "err"];
  for (const name of ["level", "time", "service", "msg", ...requestFields]) assert.ok(logged.has(name), name);
});

test("no table contains a query, a result or a key in plain text", async () => {
  const headers = { "idempotency-key": `${idempotencyKey}-2`, "search-for": marker };
  assert.equal((await server.search(wallet.live, { query }, headers)).status, 200);
  const { rows: tables } = await db.owner.query<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema')`,
  );
  assert.ok(tables.length > 10);
  let read = 0;
  for (const { name } of tables) {
    const { rows } = await db.owner.query<{ line: string }>(`select t::text as line from ${name} t`);
    for (const { line } of rows) {
      read += 1;
      assertNoSecrets(name, line);
      // Bytes are printed in hex.
      const inHex = Buffer.from(marker).toString("hex");
      assert.ok(!line.includes(inHex) && !line.includes(Buffer.from("example.org").toString("hex")), name);
    }
  }
  assert.ok(read > 20);
});

test("a crash ends the process without printing the query", async () => {
  // Node prints this kind of error with the text that it could not parse.
  const crash = `process.on("SIGUSR2", () => { setTimeout(() => new URL(process.env.PENNYBLACK_TEST_QUERY), 0); });`;
  const options = ["--import", `data:text/javascript,${encodeURIComponent(crash)}`];
  const crashing = await startServerProcess(db, { PENNYBLACK_TEST_QUERY: query }, options);
  crashing.process.kill("SIGUSR2");
  assert.equal(await crashing.ended, 1);
  assert.match(crashing.output(), /crashed/);
  assert.match(crashing.output(), /ERR_INVALID_URL/);
  assertNoSecrets("the output of the crash", crashing.output());
});
