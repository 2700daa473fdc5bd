import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { type BinaryLike, createDecipheriv, createHmac, hash, type KeyObject, randomUUID } from "node:crypto";
import { globSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { Redis } from "ioredis";
import { mintKey } from "../../src/keys/key-format.ts";
import { openDataKey } from "../../src/lib/data-key.ts";
import { makeClaim } from "../../src/search/idempotency.ts";
import { type CrashServer, openCrashFixture } from "../faults/crashes/crash-fixture.ts";
import type { Outcome } from "../faults/send-search.ts";
import { walletStatements } from "../faults/wallet-statements.ts";
import { runSql } from "../processes/run-sql.ts";
import { rawRequest, sendRaw } from "../support/raw-http.ts";
import { startPrivateRedis } from "../support/services/private-redis.ts";
import { testEnvironment, testPepper, testSecrets } from "../support/services/server.ts";
import { startTraceReceiver } from "../support/services/trace-receiver.ts";
import { openSessions } from "./fuzz/console-sessions.ts";

// Marked queries, keys and Idempotency-Keys are sent down every path, including crashes of servers and the database. Then
// everything that was written anywhere is searched for them, and for hashes of the queries: with such a hash, a dictionary
// of queries shows who searched for what.

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
const dumpsBefore = new Set(findDumps());

after(async () => {
  await fixture.close();
  await traces.close();
});

const marker = "zanzibar7quagga";
const idempotencyMarker = "idemzebra391okapi";
/** Well formed but never issued. */
const unknownKey = mintKey("live");
const secrets = [
  marker,
  idempotencyMarker,
  session,
  // Lists show the first 12 characters of a key; the rest is secret.
  ...[wallet.live, wallet.test, wallet.management, unknownKey].map((key) => key.slice(12)),
];

/** A secret as text, in hexadecimal, and in base64 at each of three offsets, without characters that depend on neighbours. */
function encodingsOf(secret: string): string[] {
  const inBase64 = [0, 1, 2].map((shift) => {
    const text = Buffer.from("x".repeat(shift) + secret).toString("base64");
    return text.slice(shift === 0 ? 0 : 4, -4);
  });
  return [secret, Buffer.from(secret).toString("hex"), ...inBase64];
}

function assertNoSecrets(where: string, written: Buffer | string): void {
  const bytes = Buffer.from(written);
  for (const secret of secrets) {
    const found = encodingsOf(secret).find((encoding) => bytes.includes(encoding));
    assert.equal(found, undefined, `${where} contains ${secret}`);
  }
}

/** The query as it is sent, parsed and stored: alone, as the request's body, and as the input of a claim. */
function textsOf(query: string): string[] {
  return [
    query,
    JSON.stringify({ query }),
    ...[query, query.toLowerCase()].map((text) => JSON.stringify([text, 10, null])),
  ];
}

/** Everything that someone with the database and the secret can derive keys from: the data key of each wallet. */
const dataKeys: KeyObject[] = [];

/** Hashes of a query, plain and under each secret and data key, for each purpose that the code passes to an HMAC. */
function hashesOf(query: string): Buffer[] {
  const secret = Buffer.from(testEnvironment(fixture.db)["PENNYBLACK_SECRET"] ?? "", "base64");
  const keys: (BinaryLike | KeyObject)[] = [secret, testPepper.bytes, ...dataKeys];
  const starts = ["", "live/", "live/\0", "\0", "live\0", "search input\0", "keyed search input\0", "stored answer\0"];
  const inputs = textsOf(query).flatMap((text) => starts.map((start) => start + text));
  return inputs.flatMap((input) => [
    ...["md5", "sha1", "sha256", "sha512"].map((name) => hash(name, input, "buffer")),
    ...keys.map((key) => createHmac("sha256", key).update(input).digest()),
  ]);
}

/** The first 16 bytes of each hash are enough to recognize it. */
function assertNoHashes(where: string, written: Buffer | string): void {
  const bytes = Buffer.from(written);
  for (const query of sentQueries) {
    for (const value of hashesOf(query).map((whole) => whole.subarray(0, 15))) {
      const encodings = [value, value.toString("hex"), value.toString("base64"), value.toString("base64url")];
      assert.ok(!encodings.some((encoding) => bytes.includes(encoding)), `${where} contains a hash of "${query}"`);
    }
  }
}

/** Files that a crashing process may write to its folder: memory, reports, traces. */
function findDumps(): string[] {
  return globSync(["core*", "report.*", "*.heapsnapshot", "*.heapprofile", "isolate-*", "node_trace.*"]);
}

const sentQueries: string[] = [];
function createRequest(hasKey = true) {
  const number = sentQueries.length + 1;
  const idempotencyKey = hasKey ? `${idempotencyMarker}-${number}` : undefined;
  const query = `where is ${marker} ${number}`;
  sentQueries.push(query);
  return { wallet, query, idempotencyKey };
}

const outcomes: Outcome[] = [];
async function search({ url }: CrashServer, request = createRequest()): Promise<void> {
  outcomes.push(await journal.search(url, request));
}

/** A search from the console's playground, with a signed-in session. */
async function searchInPlayground({ url }: CrashServer, query: string): Promise<number> {
  const { status } = await fetch(`${url}/console/api/wallets/${wallet.walletId}/playground/search`, {
    method: "POST",
    headers: { cookie: `pennyblack=${session}`, "x-pennyblack-csrf": "1", "content-type": "application/json" },
    body: JSON.stringify({ key_id: wallet.liveKeyId, query }),
  });
  return status;
}

/** The upstream returns an error that contains the query. */
async function failUpstream(server: CrashServer): Promise<void> {
  const request = createRequest();
  const { outcome } = await fixture.searchUntilUpstream(server.url, request);
  upstream.answer(request.query, 503);
  outcomes.push(await outcome);
}

async function killWhileUpstreamIsQueried(server: CrashServer): Promise<void> {
  const { outcome } = await fixture.searchUntilUpstream(server.url, createRequest());
  await server.kill();
  outcomes.push(await outcome);
}

/** Kills a server whose statement was sent and has no response. */
async function killAt(server: CrashServer, statement: string, how: "swallowRequest" | "swallowAnswer"): Promise<void> {
  const reached = server.wire[how](statement);
  const searched = search(server);
  await reached;
  await server.kill();
  await searched;
}

/** Sends rejected requests and malformed HTTP. Returns the responses. */
async function sendInvalid({ url }: CrashServer): Promise<string[]> {
  const body = JSON.stringify({ query: marker, n: 99 });
  const json = "Content-Type: application/json";
  const lines = (key: string, ...more: string[]) => [`x-api-key: ${key}`, json, ...more];
  const texts: string[] = [];
  for (const bytes of [
    rawRequest("POST /v1/search", lines(wallet.live), body),
    rawRequest("POST /v1/search", lines(unknownKey), body),
    rawRequest("POST /v1/search", lines(wallet.management), body),
    rawRequest("POST /v1/search", lines(wallet.live), `{"query": ${marker}`),
    rawRequest("POST /v1/search", lines(wallet.live, `Idempotency-Key: ${idempotencyMarker}\u00e9`), body),
    rawRequest("POST /v1/search", lines(wallet.test), JSON.stringify({ query: `test:${marker}` })),
    rawRequest("POST /v1/search", lines(wallet.test), JSON.stringify({ query: "test:internal_error" })),
    rawRequest("POST /v1/webhooks", lines(wallet.management), JSON.stringify({ url: `http://${marker}` })),
    rawRequest(`GET /v1/wallet/entries?cursor=${marker}`, lines(wallet.management)),
    rawRequest(`GET /v1/${marker}?key=${unknownKey}`, []),
    rawRequest("POST /v1/search", [`Bad ${marker}: ${unknownKey}`], body),
    `${marker} ${unknownKey}\r\n\r\n`,
  ]) {
    const { text } = await sendRaw(url, bytes);
    // A problem repeats the requested path to the caller.
    texts.push(text.replace(`/v1/${marker}`, ""));
  }
  return texts;
}

test("no log, trace, metric or error contains a query, key or Idempotency-Key, even after crashes", async () => {
  const servers: CrashServer[] = [];
  const start = async (): Promise<CrashServer> => {
    const server = await fixture.startServer(settings);
    servers.push(server);
    return server;
  };
  const survivor = await start();
  await search(survivor);
  await search(survivor, createRequest(false));
  const repeated = createRequest();
  for (let times = 0; times < 2; times += 1) await search(survivor, repeated);
  await failUpstream(survivor);
  // The same query with another Idempotency-Key, and by someone else.
  await search(survivor, { ...repeated, idempotencyKey: `${repeated.idempotencyKey}-again` });
  await search(survivor, { ...repeated, wallet: await fixture.createWallet("0.05"), idempotencyKey: randomUUID() });
  assert.equal(await searchInPlayground(survivor, `played ${marker}`), 200);
  assert.equal(await searchInPlayground(survivor, marker.repeat(200)), 400);
  for (const text of await sendInvalid(survivor)) assertNoSecrets("an error", text);
  await killWhileUpstreamIsQueried(await start());
  await killAt(await start(), walletStatements.hold, "swallowRequest");
  await killAt(await start(), walletStatements.capture, "swallowAnswer");
  await fixture.postgres.killPostmaster();
  await search(survivor);
  await fixture.postgres.restart();
  await fixture.untilQuiet();
  await search(survivor);
  assert.ok(outcomes.some((outcome) => outcome.kind === "answered" && outcome.status === 200));
  assert.ok(outcomes.some((outcome) => outcome.kind === "closed"));

  await traces.untilReceived("the last search is traced", ({ name }) => name === "capture");
  assertNoSecrets("the traces", traces.text());
  assertNoSecrets("the metrics", await (await fetch(`${survivor.opsUrl}/metrics`)).text());
  for (const server of servers) assertNoSecrets("a server's output", server.output());
  assertNoSecrets("the worker's output", worker.logged());
  assertNoSecrets("PostgreSQL's log", fixture.postgres.log());
  assert.deepEqual(
    findDumps().filter((file) => !dumpsBefore.has(file)),
    [],
  );
});

test("no database dump, table file, WAL file or Redis value contains a query, key or Idempotency-Key", async () => {
  // The same searches find a value that is stored.
  const control = "controlled9lemur";
  await fixture.db.owner.query("update pb.wallets set name = $2 where id = $1", [wallet.walletId, control]);
  // Writes the tables from memory to disk.
  await runSql(fixture.db.superuserUrl, "checkpoint");
  const { data, programs } = fixture.postgres;
  for (const { id, sealed } of (await fixture.db.owner.query("select wallet_id as id, sealed from pb.data_keys")).rows)
    dataKeys.push(...Object.values(openDataKey(testSecrets, id, sealed)));
  const dump = execFileSync(join(programs, "pg_dump"), ["--dbname", fixture.db.superuserUrl], { maxBuffer: 1 << 28 });
  assert.ok(dump.includes(control));
  assertNoSecrets("the dump", dump);
  assertNoHashes("the dump", dump);

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
  for (const path of files) assertNoSecrets(path, readFileSync(path));

  const client = new Redis(redis.url);
  const names = await client.keys("*");
  const values = await Promise.all(names.map((name) => client.dumpBuffer(name)));
  client.disconnect();
  assert.ok(names.some((name) => name.startsWith("pb:")));
  const stored = Buffer.concat([Buffer.from(names.join("\n")), ...values.filter((value) => value !== null)]);
  assertNoSecrets("Redis", stored);
  assertNoHashes("Redis", stored);
});

test("no value in the database is the same for two searches of one query", async () => {
  // Independent of how a value is computed, because any value that depends on the query alone occurs twice.
  const { rows: columns } = await fixture.db.owner.query<{ table: string; column: string }>(
    `select c.table_name as table, c.column_name as column from information_schema.columns c
     join pg_class t on t.relnamespace = 'pb'::regnamespace and t.relname = c.table_name and not t.relispartition
     where c.table_schema = 'pb' and c.data_type = 'bytea' and t.relkind in ('r', 'p')`,
  );
  assert.ok(columns.some(({ table, column }) => table === "idempotency" && column === "fingerprint"));
  for (const { table, column } of columns) {
    // An hour without records of operators has the digest of the hour before, and without entries also its tree.
    if (column === "records_digest" || table === "hour_trees") continue;
    const { rows } = await fixture.db.owner.query(
      `select from pb.${table} where ${column} is not null group by ${column} having count(*) > 1`,
    );
    assert.equal(rows.length, 0, `pb.${table}.${column} has one value in two rows`);
  }
});

test("with the database and the secret, an answer is opened and a query confirmed only with its Idempotency-Key", async () => {
  const server = await fixture.startServer(settings);
  const request = createRequest();
  await search(server, request);
  await search(server, { ...request, idempotencyKey: `${request.idempotencyKey}-again` });
  await search(server);
  const { rows: claims } = await fixture.db.owner.query<{ hmac: Buffer; fingerprint: Buffer; answer: Buffer }>(
    `select key_hmac as hmac, fingerprint, answer from pb.idempotency where wallet_id = $1 and answer is not null`,
    [wallet.walletId],
  );
  const { rows } = await fixture.db.owner.query<{ sealed: Buffer }>(
    "select sealed from pb.data_keys where wallet_id = $1",
    [wallet.walletId],
  );
  const dataKey = openDataKey(testSecrets, wallet.walletId, rows[0]?.sealed ?? assert.fail());
  const derived = Object.values(dataKey);
  assert.ok(claims.length >= 3 && derived.length >= 5);
  const isOpened = (key: BinaryLike | KeyObject, answer: Buffer): boolean => {
    const decipher = createDecipheriv("aes-256-gcm", key, answer.subarray(0, 12), { authTagLength: 16 });
    decipher.setAuthTag(answer.subarray(12, 28)).update(answer.subarray(28));
    try {
      decipher.final();
      return true;
    } catch {
      return false;
    }
  };
  let [opened, confirmed] = [0, 0];
  for (const { hmac, fingerprint, answer } of claims) {
    // What is in the database, and nothing, in place of the Idempotency-Key.
    const guesses = [
      "",
      "live",
      "live/",
      "live/\0",
      hmac,
      hmac.toString("hex"),
      `live/${hmac.toString("hex")}`,
      fingerprint,
    ];
    for (const key of derived)
      for (const candidate of [key, ...guesses.map((guess) => createHmac("sha256", key).update(guess).digest())])
        assert.ok(!isOpened(candidate, answer));
    for (const [index, query] of sentQueries.entries()) {
      const input = { query, n: 10 };
      for (const guess of ["", hmac.toString("hex"), `${idempotencyMarker}-`])
        assert.ok(!makeClaim(dataKey, "live", guess, input).fingerprint.equals(fingerprint));
      // The control: with the right Idempotency-Key, both succeed.
      for (const idempotencyKey of ["", "-again"].map((end) => `${idempotencyMarker}-${index + 1}${end}`)) {
        const claim = makeClaim(dataKey, "live", idempotencyKey, input);
        if (!claim.keyHmac.equals(hmac)) continue;
        if (claim.fingerprint.equals(fingerprint)) confirmed += 1;
        if (claim.open(answer).includes("results")) opened += 1;
      }
    }
  }
  assert.deepEqual([opened, confirmed], [claims.length, claims.length]);
});
