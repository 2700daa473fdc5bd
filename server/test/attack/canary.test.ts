import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { globSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { Redis } from "ioredis";
import pg from "pg";
import { mintKey } from "../../src/keys/key-format.ts";
import { type CrashServer, openCrashFixture } from "../faults/crashes/crash-fixture.ts";
import { spoken } from "../faults/crashes/spoken.ts";
import { until } from "../support/assertions/until.ts";
import { rawRequest, sendRaw } from "../support/raw-http.ts";
import { startPrivateRedis } from "../support/services/private-redis.ts";
import { startTraceReceiver } from "../support/services/trace-receiver.ts";
import { openSessions } from "./fuzz/console-sessions.ts";

// A canary: marked queries, keys and Idempotency-Keys go down every path, deaths of servers and of the database included,
// and then everything that was written anywhere is searched for them.

const fixture = await openCrashFixture();
const { upstream, journal } = fixture;
const redis = await startPrivateRedis();
const wallet = await fixture.createWallet("5.00");
const worker = await fixture.startWorker();
const traces = await startTraceReceiver();
const settings = {
  REDIS_URL: redis.url,
  PENNYBLACK_LOG_LEVEL: "debug",
  PENNYBLACK_PEOPLE_DATABASE_URL: fixture.db.peopleUrl,
  OTEL_EXPORTER_OTLP_ENDPOINT: traces.url,
};
const { owner: [session = ""] = [] } = await openSessions(fixture.db, wallet.walletId);
const wroteBefore = new Set(findDumps());

after(async () => {
  await fixture.close();
  await traces.close();
});

const marker = "zanzibar7quagga";
const idempotencyMarker = "idemzebra391okapi";
/** Well formed and never issued; what is sent with it is refused. */
const strangeKey = mintKey("live");
const secrets = [
  marker,
  idempotencyMarker,
  session,
  // What is shown of a key in lists is 12 characters; the secret part begins behind.
  ...[wallet.live, wallet.test, wallet.management, strangeKey].map((key) => key.slice(12)),
];

/** How a secret looks in hexadecimal, and in base64 at each of its three places, less what its neighbours change. */
function disguisesOf(secret: string): string[] {
  const inBase64 = [0, 1, 2].map((shift) => {
    const text = Buffer.from("x".repeat(shift) + secret).toString("base64");
    return text.slice(shift === 0 ? 0 : 4, -4);
  });
  return [secret, Buffer.from(secret).toString("hex"), ...inBase64];
}

function assertSilent(where: string, written: Buffer | string): void {
  const bytes = Buffer.from(written);
  for (const secret of secrets) {
    const found = disguisesOf(secret).find((disguise) => bytes.includes(disguise));
    assert.equal(found, undefined, `${where} holds ${secret}`);
  }
}

/** What a process that dies may leave in its folder: memory, reports, traces. */
function findDumps(): string[] {
  return globSync(["core*", "report.*", "*.heapsnapshot", "*.heapprofile", "isolate-*", "node_trace.*"]);
}

let question = 0;
function ask(server: CrashServer, kept = true) {
  question += 1;
  const idempotencyKey = kept ? `${idempotencyMarker}-${question}` : undefined;
  return { query: `where is ${marker} ${question}`, idempotencyKey, url: server.url };
}

async function searchOnce(server: CrashServer, kept = true): Promise<void> {
  const { query, idempotencyKey, url } = ask(server, kept);
  await journal.search(url, { wallet, query, idempotencyKey });
}

/** The same from the console's playground, by whoever is signed in there. */
async function play({ url }: CrashServer, query: string): Promise<number> {
  const { status } = await fetch(`${url}/console/api/wallets/${wallet.walletId}/playground/search`, {
    method: "POST",
    headers: { cookie: `pennyblack=${session}`, "x-pennyblack-csrf": "1", "content-type": "application/json" },
    body: JSON.stringify({ key_id: wallet.liveKeyId, query }),
  });
  return status;
}

/** The upstream fails, and says so with the query. */
async function failUpstream(server: CrashServer): Promise<void> {
  const { query, idempotencyKey, url } = ask(server);
  upstream.keepWaiting(query);
  const seen = journal.search(url, { wallet, query, idempotencyKey });
  await until("the upstream is asked", () => upstream.isWaiting(query));
  upstream.answer(query, 503);
  await seen;
}

/** Dies while a search waits for its upstream. */
async function dieInSearch(server: CrashServer): Promise<void> {
  const { query, idempotencyKey, url } = ask(server);
  upstream.keepWaiting(query);
  const seen = journal.search(url, { wallet, query, idempotencyKey });
  await until("the upstream is asked", () => upstream.isWaiting(query));
  await server.kill();
  await seen;
}

/** Dies when a statement of a search is on its way, and nothing more is heard of it. */
async function dieAt(server: CrashServer, words: string, how: "swallowRequest" | "swallowAnswer"): Promise<void> {
  const reached = server.wire[how](words);
  const { query, idempotencyKey, url } = ask(server);
  const seen = journal.search(url, { wallet, query, idempotencyKey });
  await reached;
  await server.kill();
  await seen;
}

/** What is refused, and what was never a request. */
async function beRefused({ url }: CrashServer): Promise<string[]> {
  const body = JSON.stringify({ query: marker, n: 99 });
  const json = "Content-Type: application/json";
  const lines = (key: string, ...more: string[]) => [`x-api-key: ${key}`, json, ...more];
  const texts: string[] = [];
  for (const bytes of [
    rawRequest("POST /v1/search", lines(wallet.live), body),
    rawRequest("POST /v1/search", lines(strangeKey), body),
    rawRequest("POST /v1/search", lines(wallet.management), body),
    rawRequest("POST /v1/search", lines(wallet.live), `{"query": ${marker}`),
    rawRequest("POST /v1/search", lines(wallet.live, `Idempotency-Key: ${idempotencyMarker}\u00e9`), body),
    rawRequest("POST /v1/search", lines(wallet.test), JSON.stringify({ query: `test:${marker}` })),
    rawRequest("POST /v1/search", lines(wallet.test), JSON.stringify({ query: "test:internal_error" })),
    rawRequest("POST /v1/webhooks", lines(wallet.management), JSON.stringify({ url: `http://${marker}` })),
    rawRequest(`GET /v1/wallet/entries?cursor=${marker}`, lines(wallet.management)),
    rawRequest(`GET /v1/${marker}?key=${strangeKey}`, []),
    rawRequest("POST /v1/search", [`Bad ${marker}: ${strangeKey}`], body),
    `${marker} ${strangeKey}\r\n\r\n`,
  ]) {
    const { text } = await sendRaw(url, bytes);
    // A problem names the path that was asked for, to whoever asked for it.
    texts.push(text.replace(`/v1/${marker}`, ""));
  }
  return texts;
}

test("queries, keys and Idempotency-Keys are found nowhere, whatever path they took and whoever died", async () => {
  const servers: CrashServer[] = [];
  const start = async (): Promise<CrashServer> => {
    const server = await fixture.startServer(settings);
    servers.push(server);
    return server;
  };
  const survivor = await start();
  await searchOnce(survivor);
  await searchOnce(survivor, false);
  const { query, idempotencyKey } = ask(survivor);
  for (let times = 0; times < 2; times += 1) await journal.search(survivor.url, { wallet, query, idempotencyKey });
  await failUpstream(survivor);
  assert.equal(await play(survivor, `played ${marker}`), 200);
  assert.equal(await play(survivor, marker.repeat(200)), 400);
  for (const text of await beRefused(survivor)) assertSilent("an error", text);
  await dieInSearch(await start());
  await dieAt(await start(), spoken.hold, "swallowRequest");
  await dieAt(await start(), spoken.capture, "swallowAnswer");
  await fixture.postgres.killPostmaster();
  await searchOnce(survivor);
  await fixture.postgres.restart();
  await fixture.untilQuiet();
  await searchOnce(survivor);
  assert.ok(journal.entries.some(({ seen }) => seen.kind === "answered" && seen.status === 200));
  assert.ok(journal.entries.some(({ seen }) => seen.kind === "closed"));

  await traces.untilReceived("the last search is traced", ({ name }) => name === "capture");
  assertSilent("the traces", traces.text());
  assertSilent("the metrics", await (await fetch(`${survivor.opsUrl}/metrics`)).text());
  for (const server of servers) assertSilent("a server's output", server.output());
  assertSilent("the worker's output", worker.logged());
  assertSilent("PostgreSQL's log", fixture.postgres.log());
  assert.deepEqual(
    findDumps().filter((file) => !wroteBefore.has(file)),
    [],
  );
});

test("nor are they in a dump of the database, its files, its log of changes or Redis", async () => {
  // The same eyes find what does rest there.
  const control = "controlled9lemur";
  await fixture.db.owner.query("update pb.wallets set name = $2 where id = $1", [wallet.walletId, control]);
  await checkpoint();
  const { data, programs } = fixture.postgres;
  const dump = execFileSync(join(programs, "pg_dump"), ["--dbname", fixture.db.superuserUrl], { maxBuffer: 1 << 28 });
  assert.ok(dump.includes(control));
  assertSilent("the dump", dump);

  const { rows } = await fixture.db.owner.query<{ oid: number }>(
    "select oid from pg_database where datname = current_database()",
  );
  const files = globSync([`${data}/base/${rows[0]?.oid}/*`, `${data}/{global,pg_wal,pg_stat,pg_stat_tmp}/*`]).filter(
    (path) => statSync(path, { throwIfNoEntry: false })?.isFile(),
  );
  const withControl = files.filter((path) => readFileSync(path).includes(control));
  assert.ok(
    withControl.some((path) => path.includes("/pg_wal/")) && withControl.some((path) => path.includes("/base/")),
  );
  for (const path of files) assertSilent(path, readFileSync(path));

  const client = new Redis(redis.url);
  const names = await client.keys("*");
  const values = await Promise.all(names.map((name) => client.dumpBuffer(name)));
  client.disconnect();
  assert.ok(names.some((name) => name.startsWith("pb:")));
  assertSilent("Redis", Buffer.concat([Buffer.from(names.join("\n")), ...values.filter((value) => value !== null)]));
});

/** So that tables are on disk and not in memory alone. */
async function checkpoint(): Promise<void> {
  const client = new pg.Client({ connectionString: fixture.db.superuserUrl });
  await client.connect();
  await client.query("checkpoint");
  await client.end();
}
