import assert from "node:assert/strict";
import { after, test } from "node:test";
import { until } from "../support/assertions/until.ts";
import { rawRequest, sendRaw } from "../support/raw-http.ts";
import { createTestDatabase } from "../support/services/database.ts";
import { createTestWallet, type Reply, startTestServer } from "../support/services/server.ts";
import { startServerProcess } from "../support/services/server-process.ts";
import { startHostileUpstream } from "../support/upstreams/hostile-upstream.ts";

// Queries and keys are the callers' secrets. They stand in no log line, no metric, no error and no table.

const db = await createTestDatabase();
const upstream = await startHostileUpstream();
const settings = { PENNYBLACK_SEARXNG_URL: upstream.url };
const server = await startTestServer(db, settings);
const wallet = await createTestWallet(db, "1.00");
const marker = "zanzibar7quagga";
const query = `where is ${marker}`;
const idempotencyKey = "idempotency-zebra-391";

after(async () => {
  await server.close();
  await upstream.close();
  await db.drop();
});

function assertSilent(where: string, text: string): void {
  const secrets = [marker, idempotencyKey, wallet.live, wallet.test, wallet.management];
  // What is shown of a key in lists is 12 characters; the secret part begins behind.
  const tails = [wallet.live, wallet.test, wallet.management].map((key) => key.slice(12));
  for (const secret of [...secrets, ...tails]) {
    assert.ok(!text.toLowerCase().includes(secret.toLowerCase()), `${where} holds ${secret}: ${text.slice(0, 400)}`);
  }
}

/** Every way in which a search with the marker can go wrong, and some in which it goes right. */
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

test("no log line, metric or error body repeats a query, a key or an Idempotency-Key", async () => {
  const replies = await searchInEveryWay();
  assert.ok(new Set(replies.map((reply) => reply.status)).size >= 8);
  for (const reply of replies) {
    if (reply.status !== 200) assertSilent(`a ${reply.status}`, reply.text);
    assertSilent("a header", JSON.stringify([...reply.headers]));
  }
  // Answers that a client would never let through, and a request that is not HTTP.
  for (const request of [
    rawRequest("POST /v1/search", [`x-api-key: ${wallet.live}`, `Bad ${marker}: x`], JSON.stringify({ query })),
    rawRequest("POST /v1/search", [`x-api-key: ${wallet.live}`, `X-Long: ${marker.repeat(2000)}`]),
    rawRequest("GET /%zz", [`x-api-key: ${wallet.live}`]),
    `${query}\r\n\r\n`,
  ]) {
    assertSilent("a broken request's answer", (await sendRaw(server.url, request)).text);
  }
  await until("every answer is logged", () => server.logged().split('"outcome"').length > replies.length);
  assertSilent("the log", server.logged());
  assertSilent("the metrics", await server.readMetrics());
});

test("a fault of ours is logged with its place and without what it was about", async () => {
  await server.search(wallet.test, { query }, { "idempotency-key": idempotencyKey });
  await db.owner.query("update pb.idempotency set answer = '\\x0011223344' where mode = 'test'");
  const { status } = await server.search(wallet.test, { query }, { "idempotency-key": idempotencyKey });
  assert.equal(status, 500);
  await until("it is logged", () => server.logged().includes("internal error"));
  assert.match(server.logged(), /idempotency\.ts/);
  assertSilent("the log", server.logged());
});

test("an upstream's 500 is not logged as a fault of ours", async () => {
  const before = server.logged().length;
  await upstream.behave("status_500");
  const { headers } = await server.search(wallet.live, { query });
  await upstream.behave("ok");
  await until("it is logged", () =>
    server
      .logged()
      .slice(before)
      .includes(headers.get("request-id") ?? ""),
  );
  const lines = server
    .logged()
    .slice(before)
    .split("\n")
    .filter((line) => line.includes(headers.get("request-id") ?? ""));
  assert.ok(
    lines.every((line) => !line.includes("internal error")),
    lines.join("\n"),
  );
});

test("no table holds a query, a result or a key in the clear", async () => {
  await server.search(wallet.live, { query }, { "idempotency-key": `${idempotencyKey}-2` });
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
      assertSilent(name, line);
      // Bytes are shown in hex.
      const inHex = Buffer.from(marker).toString("hex");
      assert.ok(!line.includes(inHex) && !line.includes(Buffer.from("example.org").toString("hex")), name);
    }
  }
  assert.ok(read > 20);
});

test("a crash leaves no query behind, and the process ends", async () => {
  // The kind of error that Node prints with the text it could not read.
  const crash = `process.on("SIGUSR2", () => { setTimeout(() => new URL(process.env.PENNYBLACK_TEST_QUERY), 0); });`;
  const options = ["--import", `data:text/javascript,${encodeURIComponent(crash)}`];
  const doomed = await startServerProcess(db, { ...settings, PENNYBLACK_TEST_QUERY: query }, options);
  doomed.process.kill("SIGUSR2");
  assert.equal(await doomed.ended, 1);
  assert.match(doomed.output(), /crashed/);
  assert.match(doomed.output(), /ERR_INVALID_URL/);
  assertSilent("what a crash printed", doomed.output());
});
