import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Socket, type Server as TcpServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Redis } from "ioredis";
import pg from "pg";
import { createKey } from "../../src/keys/keys.ts";
import { sealNewDataKey } from "../../src/lib/data-key.ts";
import { until } from "../support/assertions/until.ts";
import { createTestDatabase, type TestDatabase } from "../support/services/database.ts";
import { spawnNode } from "../support/services/node-process.ts";
import { type PrivatePostgres, startPrivatePostgres } from "../support/services/private-postgres.ts";
import { type PrivateRedis, startPrivateRedis } from "../support/services/private-redis.ts";
import { createTestWallet, testEnvironment, testSecrets } from "../support/services/server.ts";

// `npm run admin -- doctor` on a healthy installation, and on installations with planted misconfigurations.

const folder = mkdtempSync(join(tmpdir(), "pennyblack-doctor-"));
let postgres: PrivatePostgres;
let redis: PrivateRedis;
let db: TestDatabase;
let healthy: Record<string, string>;
/** A fake of the public server, the OpenID Connect provider and the upstream. */
const services = createServer((request, response) => {
  // As the server does.
  if (request.method === "GET") answer(request.url ?? "", response);
  else response.writeHead(405, { "request-id": "r1" }).end();
});
/** The path of each service that fails. */
const failing = new Set<string>();
const mailServer = createTcpServer((socket) => speakSmtp(socket));

function answer(path: string, response: ServerResponse): void {
  const isFailing = [...failing].some((prefix) => path.startsWith(prefix));
  const issuer = healthy["PENNYBLACK_OIDC_ISSUER"];
  const metadata = { issuer, authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token` };
  response.writeHead(isFailing ? 503 : 200, { "content-type": "application/json", "request-id": "r1" });
  response.end(JSON.stringify(path.startsWith("/search") ? { results: [] } : metadata));
}

/** Accepts the password "right" only. */
function speakSmtp(socket: Socket): void {
  socket.write("220 ready\r\n");
  socket.on("error", () => undefined);
  socket.on("data", (data: Buffer) => {
    const [, credentials] = /^AUTH PLAIN (\S+)/m.exec(data.toString()) ?? [];
    if (credentials === undefined)
      socket.write(data.toString().startsWith("QUIT") ? "221 bye\r\n" : "250-mail\r\n250 AUTH PLAIN\r\n");
    else socket.write(Buffer.from(credentials, "base64").toString().endsWith("right") ? "235 ok\r\n" : "535 no\r\n");
  });
}

/** Starts to listen on any port, which is returned. */
async function open(server: TcpServer): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

before(async () => {
  postgres = await startPrivatePostgres({ settings: ["archive_mode=on"] });
  redis = await startPrivateRedis();
  db = await createTestDatabase(postgres.superuserUrl);
  const { PENNYBLACK_PEOPLE_DATABASE_URL: _, ...environment } = testEnvironment(db);
  const url = `http://127.0.0.1:${await open(services)}`;
  const pgbackrest = mkdtempSync(join(folder, "healthy-"));
  writeBackups(pgbackrest, Date.now() / 1_000);
  healthy = {
    ...environment,
    PATH: `${pgbackrest}:${process.env["PATH"]}`,
    PENNYBLACK_PUBLIC_URL: url,
    PENNYBLACK_OIDC_ISSUER: url,
    PENNYBLACK_OIDC_CLIENT_ID: "pennyblack",
    PENNYBLACK_SMTP_URL: `smtp://user:right@127.0.0.1:${await open(mailServer)}`,
    PENNYBLACK_MAIL_FROM: "pennyblack@example.com",
    PENNYBLACK_WORKER_DATABASE_URL: db.workerUrl,
    PENNYBLACK_DIRECT_DATABASE_URL: db.ownerUrl,
    PENNYBLACK_SEARXNG_URL: url,
    PENNYBLACK_ROOTS: folder,
    REDIS_URL: redis.url,
  };
  await asSuperuser("alter system set archive_command = '/bin/true'", "select pg_reload_conf()");
  // Recent while this file runs.
  await db.owner.query(
    "insert into pb.worker_tasks select task, 300, now() + interval '1 day', now() + interval '1 day' from unnest('{sweep,prune}'::text[]) task",
  );
});

/** A stand-in, because a real repository cannot contain a backup from the past. */
function writeBackups(into: string, stop: number): void {
  const info = [{ name: "pennyblack", backup: [{ error: false, timestamp: { stop } }] }];
  writeFileSync(join(into, "pgbackrest"), `#!/bin/sh\ncat <<'END'\n${JSON.stringify(info)}\nEND\n`, { mode: 0o755 });
}

after(async () => {
  services.close();
  mailServer.close();
  await db.drop();
  await redis.kill();
  await postgres.close();
  rmSync(folder, { recursive: true });
});

interface DoctorOptions {
  settings?: Record<string, string>;
  nodeOptions?: string[];
}

/** The findings as "error: problem fix", and the exit code. */
async function runDoctor({ settings = {}, nodeOptions = [] }: DoctorOptions = {}): Promise<Diagnosis> {
  const run = spawnNode("admin/main.ts", { ...healthy, ...settings }, { args: ["doctor"], nodeOptions });
  const exitCode = await run.ended;
  const findings = [...run.output().matchAll(/^ {2}(error|warning): (.*)\n {4}(.*)$/gm)].map(
    ([, severity, problem, fix]) => `${severity}: ${problem} ${fix}`,
  );
  return { exitCode, output: run.output(), findings };
}

interface Diagnosis {
  exitCode: number | null;
  output: string;
  findings: string[];
}

/** The findings are these, in this order, and no others. */
function assertFindings({ findings, output }: Diagnosis, expected: readonly RegExp[]): void {
  assert.equal(findings.length, expected.length, output);
  for (const [index, pattern] of expected.entries()) assert.match(findings[index] ?? "", pattern);
}

async function asSuperuser(...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: db.superuserUrl });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

test("a healthy installation has no findings", async () => {
  const { exitCode, output } = await runDoctor();
  const addresses = ["Email", "OpenID Connect", "Upstreams", "Public URL"];
  const checks = ["Settings", "Database", "Database hosts", "Redis", "Machine", "Backups", ...addresses];
  assert.equal(output, `${checks.map((name) => `${name}: ok\n`).join("")}0 errors, 0 warnings.\n`);
  assert.equal(exitCode, 0);
});

test("invalid settings are reported together, before everything else", async () => {
  const diagnosis = await runDoctor({
    settings: { PENNYBLACK_PORTT: "80", PENNYBLACK_SERVERS: "none", DATABASE_URL: "" },
  });
  assertFindings(diagnosis, [
    /^error: PENNYBLACK_PORTT is not a known setting \(did you mean PORT\?\)\. See the settings in docs\/settings\.md/,
    /^error: DATABASE_URL is required/,
    /^error: PENNYBLACK_SERVERS must be/,
  ]);
  assert.equal(diagnosis.exitCode, 1);
});

const withoutSignIn = {
  PENNYBLACK_SMTP_URL: "",
  PENNYBLACK_MAIL_FROM: "",
  PENNYBLACK_OIDC_ISSUER: "",
  PENNYBLACK_OIDC_CLIENT_ID: "",
};

test("tries every address: services that fail, wrong passwords, and backups that are not configured", async () => {
  for (const path of ["/search", "/openapi.json", "/.well-known"]) failing.add(path);
  const wrong = (url: string): string =>
    Object.assign(new URL(url), { username: "no_such_role", password: "wrong" }).href;
  const urls = ["DATABASE_URL", "TENANT", "PAYMENTS", "OPERATOR", "PEOPLE", "WORKER", "DIRECT"].map((name) =>
    name === "DATABASE_URL" ? name : `PENNYBLACK_${name}_DATABASE_URL`,
  );
  const diagnosis = await runDoctor({
    settings: {
      ...Object.fromEntries(urls.map((name) => [name, wrong(db.ledgerUrl)])),
      PENNYBLACK_SMTP_URL: healthy["PENNYBLACK_SMTP_URL"]?.replace("right", "wrong") ?? "",
      PATH: "/nonexistent",
    },
  });
  failing.clear();
  assertFindings(diagnosis, [
    ...urls.map(
      (name) => new RegExp(`^error: ${name} cannot be used\\. PostgreSQL rejected the login: .* Check ${name}\\.`),
    ),
    /^warning: No backup is configured on this machine.* set up backups/,
    /^error: The mail server of PENNYBLACK_SMTP_URL cannot be used \(EAUTH\)/,
    /^error: PENNYBLACK_OIDC_ISSUER cannot be used \(.+\)\. People cannot sign in/,
    /^error: A search with searxng failed: status\..* probe searxng/,
    /^error: PENNYBLACK_PUBLIC_URL returns status 503\./,
  ]);
  assert.ok(!diagnosis.output.includes("wrong"), "no password is printed");
});

test("finds valid settings that are wrong together or in production", async () => {
  const diagnosis = await runDoctor({
    settings: {
      PENNYBLACK_PUBLIC_URL: "https://localhost:1",
      PENNYBLACK_SERVERS: "100",
      REDIS_URL: "",
      PENNYBLACK_SEARXNG_URL: "",
      PENNYBLACK_PEOPLE_DATABASE_URL: db.peopleUrl,
      ...withoutSignIn,
      PENNYBLACK_STRIPE_SECRET_KEY: "sk_live_0000000000000000",
      PENNYBLACK_ROOTS: "/nonexistent",
    },
  });
  assertFindings(diagnosis, [
    /^error: PENNYBLACK_TRUSTED_PROXIES is empty.* List the addresses of the proxy/,
    /^error: .*Servers cannot share limits\. Set REDIS_URL/,
    /^error: PENNYBLACK_STRIPE_WEBHOOK_SECRET is not set.* Create a webhook endpoint/,
    /^error: No upstream is configured.* npm run providers/,
    /^warning: .*sign-in emails cannot be sent\. Set PENNYBLACK_SMTP_URL/,
    /^error: 100 servers and a worker open up to 2628 connections.* PgBouncer/,
    /^error: The folder of PENNYBLACK_ROOTS does not exist.* Create it/,
    /^warning: Email is not configured.* Set PENNYBLACK_SMTP_URL/,
    /^error: PENNYBLACK_PUBLIC_URL does not respond.* Check DNS/,
  ]);
  assert.equal(diagnosis.exitCode, 1);
});

test("finds a public server with the settings of a development machine", async () => {
  const client = new Redis(redis.url);
  await client.config("SET", "maxmemory", "100mb", "maxmemory-policy", "allkeys-lru");
  const diagnosis = await runDoctor({
    settings: {
      PENNYBLACK_PUBLIC_URL: "http://192.0.2.1",
      PENNYBLACK_WEBHOOKS_ALLOW_PRIVATE: "true",
      PENNYBLACK_STRIPE_SECRET_KEY: "sk_test_0000000000000000",
      PENNYBLACK_STRIPE_WEBHOOK_SECRET: "whsec_0000000000000000",
      PENNYBLACK_SIGNING_KEYS: "",
      PENNYBLACK_ROOTS: "",
    },
  });
  await client.config("SET", "maxmemory", "0");
  client.disconnect();
  assertFindings(diagnosis, [
    /^error: PENNYBLACK_PUBLIC_URL uses http.* TLS proxy/,
    /^error: .*requests to your internal network\. Remove the setting/,
    /^error: .*test cards add real balance\. Set the live key/,
    /^warning: .*Receipts are not signed\. .*openssl rand/,
    /^warning: Redis evicts keys.* noeviction/,
    /^error: PENNYBLACK_PUBLIC_URL does not respond.* Check DNS/,
  ]);
});

/** The archiver can still archive a segment with the command that was just replaced. */
async function failToArchive(): Promise<void> {
  const read = async () =>
    (await db.owner.query<Record<"archived" | "failed", bigint>>(archiverCounts)).rows[0] ?? assert.fail();
  for (let before = await read(); before.failed === 0n; before = await read()) {
    await asSuperuser("select pg_logical_emit_message(false, 'doctor', 'x')", "select pg_switch_wal()");
    await until("the segment was archived or failed", async () => {
      const { archived, failed } = await read();
      return archived + failed > before.archived + before.failed;
    });
  }
}

const archiverCounts = "select archived_count as archived, failed_count as failed from pg_stat_archiver";

test("finds wrong roles, limits and settings of the database, a stopped worker and an old backup", async () => {
  const { walletId } = await createTestWallet(db, "0.00");
  await createKey(db.owner, { version: 2, bytes: Buffer.alloc(32, 1) }, { walletId, mode: "live", name: "old" });
  await db.owner.query("update pb.worker_tasks set reported_at = now() - interval '10 minutes'");
  await asSuperuser(
    "alter role pennyblack_ledger reset statement_timeout",
    "alter system set fsync = off",
    "alter system set full_page_writes = off",
    "alter system set synchronous_commit = off",
    "alter system set synchronous_standby_names = '*'",
    "alter system set archive_command = '/bin/false'",
    "select pg_reload_conf()",
  );
  await failToArchive();
  writeBackups(folder, 1_767_225_600);

  const diagnosis = await runDoctor({
    settings: {
      PATH: `${folder}:${process.env["PATH"]}`,
      DATABASE_URL: db.ownerUrl,
      PENNYBLACK_TENANT_DATABASE_URL: db.ledgerUrl,
      REDIS_URL: "redis://127.0.0.1:1",
    },
  });
  assertFindings(diagnosis, [
    /^error: DATABASE_URL .*owns the ledger's schema\. Connect as pennyblack_ledger/,
    /^error: PENNYBLACK_TENANT_DATABASE_URL connects as pennyblack_ledger\. Connect as pennyblack_tenant/,
    /^error: fsync is off.* Turn it on/,
    /^error: full_page_writes is off.* Turn it on/,
    /^error: synchronous_commit is off.* Turn it on/,
    /^error: synchronous_standby_names is "\*"\..* Name the replicas/,
    /^warning: The role pennyblack_ledger does not have statement_timeout = 5s\. Run npm run migrate/,
    /^error: WAL archiving has failed since .*archiving-fails/,
    /^error: PENNYBLACK_KEY_PEPPERS does not list version 2\. 1 active key cannot be used.*key-peppers/,
    /^error: No worker is running: the last report was at .* npm run worker/,
    /^error: Redis does not respond, .*Start Redis/,
    /^error: The last backup of pennyblack ended at 2026-01-01T00:00:00.*backup-too-old/,
  ]);
  assert.equal(diagnosis.exitCode, 1);
});

test("counts the keys of each pepper, and data keys that are not under the first secret", async () => {
  const { walletId } = await createTestWallet(db, "0.00");
  await db.owner.query("insert into pb.data_keys values ($1, $2)", [walletId, sealNewDataKey(testSecrets, walletId)]);
  const listed = (...secrets: (string | undefined)[]) => ({ settings: { PENNYBLACK_SECRET: secrets.join(",") } });
  const other = Buffer.alloc(32, 9).toString("base64");
  const peppers = `2:${Buffer.alloc(32, 1).toString("base64")},${healthy["PENNYBLACK_KEY_PEPPERS"]}`;
  const both = listed(other, healthy["PENNYBLACK_SECRET"]);
  const { output } = await runDoctor({ settings: { ...both.settings, PENNYBLACK_KEY_PEPPERS: peppers } });
  assert.match(output, /warning: 1 data keys are not encrypted under the first secret .*\n.*secret reseal/);
  assert.match(output, /warning: \d+ active keys use pepper 1, which is not the first .*\n.*key-peppers/);
  const unlisted = await runDoctor(listed(other));
  assert.match(unlisted.output, /error: PENNYBLACK_SECRET does not list the secret [\da-f]{16}, .*\n.*do not start/);
});

test("finds a worker that crashes, and one whose tasks fail", async () => {
  await db.owner.query("update pb.worker_tasks set reported_at = now() + interval '1 day'");
  await db.owner.query("update pb.worker_tasks set succeeded_at = now() - interval '1 hour' where task = 'prune'");
  await db.owner.query(
    "insert into pb.process_reports values ($1, 'worker', '{}', now(), now() - interval '1 minute')",
    [randomUUIDv7()],
  );
  const { output } = await runDoctor();
  assert.doesNotMatch(output, /No worker is running/);
  assert.match(output, /error: Workers crashed 1 times in the last ten minutes\.\n.*worker-not-seen/);
  assert.match(output, /error: Tasks of the worker have not succeeded in time: prune\.\n.*task-fails/);
});

test("finds clocks that differ", async () => {
  const shift = "const { now } = Date; Date.now = () => now() - 60_000;";
  const { output } = await runDoctor({
    nodeOptions: ["--import", `data:text/javascript,${encodeURIComponent(shift)}`],
  });
  assert.match(output, /The clocks of this machine and the database differ by (?:59|60)\.\d seconds/);
  assert.match(output, /The clocks of this machine and Redis differ by (?:59|60)\.\d seconds/);
});
