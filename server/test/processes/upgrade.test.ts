import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import pg from "pg";
import { expectedMigrations, migrate } from "../../src/db/migrate.ts";
import { createPool, type Pool } from "../../src/db/pool.ts";
import { createRoles, grantDatabase, withRole } from "../../src/db/roles.ts";
import { choosePort } from "../../src/dev/choose-port.ts";
import { formatReport, reconcile } from "../../src/wallet/reconcile.ts";
import { type PatientUpstream, startPatientUpstream } from "../crashes/patient-upstream.ts";
import { superuserUrl } from "../database.ts";
import { until } from "../until.ts";

// A rolling upgrade, as an operator does it: the version before serves, the migrations of this one arrive, both serve side
// by side, the version before leaves. All the while callers search, and none of them may notice.
//
// The version before is the last commit of the main line whose migrations were others than today's.

const root = resolve(import.meta.dirname, "../../..");
const name = `pb_test_${randomBytes(6).toString("hex")}`;
const folder = mkdtempSync(join(tmpdir(), "pennyblack-previous-"));
const at = Object.assign(new URL(superuserUrl), { pathname: `/${name}` }).href;
const urls = {
  DATABASE_URL: withRole(at, "ledger"),
  PENNYBLACK_TENANT_DATABASE_URL: withRole(at, "tenant"),
  PENNYBLACK_OPERATOR_DATABASE_URL: withRole(at, "operator"),
};
const secrets = {
  PENNYBLACK_SECRET: randomBytes(32).toString("base64"),
  PENNYBLACK_KEY_PEPPERS: `1:${randomBytes(32).toString("base64")}`,
};
const previous = findPreviousVersion();
const direct = { PENNYBLACK_DIRECT_DATABASE_URL: withRole(at, "owner") };

let upstream: PatientUpstream;
let owner: Pool;
const children: { kill: () => void }[] = [];

before(async () => {
  upstream = await startPatientUpstream();
  upstream.longestMs = 20;
  if (previous !== undefined) unpack(previous);
  await asSuperuser(async (client) => {
    await createRoles(client, {});
    await client.query(`create database ${name} owner pennyblack_owner`);
    await grantDatabase(client, name);
  });
  owner = createPool({
    url: direct.PENNYBLACK_DIRECT_DATABASE_URL,
    name: "test",
    connections: 2,
    onIdleError: () => {},
  });
});

after(async () => {
  for (const child of children) child.kill();
  await owner.end();
  await upstream.close();
  await asSuperuser((client) => client.query(`drop database ${name} with (force)`));
  rmSync(folder, { recursive: true });
});

function findPreviousVersion(): string | undefined {
  const today = new Set(expectedMigrations());
  const migrationsAt = (commit: string): string[] =>
    git("ls-tree", "--name-only", `${commit}:server/migrations`)
      .split("\n")
      .map((file) => file.replace(/\.sql$/, ""));
  return git("log", "--first-parent", "--format=%H", "-n", "300")
    .split("\n")
    .find(
      (commit) => migrationsAt(commit).some((each) => !today.has(each)) || migrationsAt(commit).length < today.size,
    );
}

function git(...words: string[]): string {
  return execFileSync("git", words, { cwd: root, encoding: "utf8" }).trim();
}

/**
 * As it was committed; its packages are those of today, and so is the text of its migrations: one had to be mended for a
 * PostgreSQL that came later.
 */
function unpack(commit: string): void {
  execFileSync("sh", ["-c", `git archive ${commit} server package.json | tar -x -C "${folder}"`], { cwd: root });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  for (const file of readdirSync(join(folder, "server/migrations"))) {
    const now = join(root, "server/migrations", file);
    if (existsSync(now)) cpSync(now, join(folder, "server/migrations", file));
  }
}

async function asSuperuser<Result>(work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: superuserUrl });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

interface Running {
  url: string;
  opsUrl: string;
  stop(): Promise<number | null>;
}

/** A server or a worker of the version in a folder. */
async function start(home: string, script: string, settings: Record<string, string>): Promise<Running> {
  const [port, opsPort] = [await choosePort({ host: "127.0.0.1" }), await choosePort({ host: "127.0.0.1" })];
  const listeners = { HOST: "127.0.0.1", PORT: String(port), PENNYBLACK_OPS_PORT: String(opsPort) };
  const child = spawn(process.execPath, [join(home, "server/src", script)], {
    env: { ...listeners, ...secrets, PENNYBLACK_DRAIN_MS: "200", ...settings },
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.push({ kill: () => child.kill("SIGKILL") });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const ended = once(child, "close").then(() => child.exitCode);
  const opsUrl = `http://127.0.0.1:${opsPort}`;
  await until(`${script} is ready`, async () => {
    if (child.exitCode !== null) throw new Error(`It ended: ${output}`);
    return (await fetch(`${opsUrl}/readyz`).catch(() => undefined))?.status === 200;
  });
  return {
    url: `http://127.0.0.1:${port}`,
    opsUrl,
    async stop() {
      child.kill("SIGTERM");
      return ended;
    },
  };
}

const startServer = (home: string): Promise<Running> =>
  start(home, "main.ts", { ...urls, PENNYBLACK_SEARXNG_URL: upstream.url, PENNYBLACK_LOG_LEVEL: "warn" });
const startWorker = (home: string): Promise<Running> => start(home, "jobs/main.ts", direct);

function adminOfPrevious(...words: string[]): string {
  return execFileSync(process.execPath, [join(folder, "server/src/admin/main.ts"), ...words], {
    env: { ...urls, ...direct, ...secrets },
    encoding: "utf8",
  });
}

/** Callers that never rest. What they are answered is written down. */
function startCallers(key: string, servers: () => readonly string[], callers: number) {
  const seen = { ok: 0, failures: [] as string[] };
  const load = { isOn: true };
  async function call(): Promise<void> {
    while (load.isOn) {
      const urls = servers();
      const url = urls[Math.floor(Math.random() * urls.length)] ?? "";
      try {
        const response = await fetch(`${url}/v1/search`, {
          method: "POST",
          headers: { "x-api-key": key, "content-type": "application/json", "idempotency-key": randomUUID() },
          body: JSON.stringify({ query: randomUUID() }),
        });
        const text = await response.text();
        if (response.status === 200) seen.ok += 1;
        else seen.failures.push(`${response.status} ${text}`);
      } catch (error) {
        seen.failures.push(String(error instanceof Error ? (error.cause ?? error) : error));
      }
    }
  }
  const running = Array.from({ length: callers }, call);
  return {
    /** Until so many more were answered. */
    async more(count: number): Promise<void> {
      const enough = seen.ok + count;
      await until("they are answered", () => seen.ok >= enough || seen.failures.length > 0, 60_000);
      assert.deepEqual(seen.failures, []);
    },
    async stop() {
      load.isOn = false;
      await Promise.all(running);
      return seen;
    },
  };
}

const skip = previous === undefined ? "a shallow clone has no version before this one" : false;

test("an upgrade under load fails no search, and loses no cent", { skip }, async () => {
  adminOfPrevious("database", "setup");
  const before = readdirSync(join(folder, "server/migrations")).length;
  assert.ok(before < expectedMigrations().length, `the version before has ${before} migrations`);
  const made = adminOfPrevious("wallet", "create", "--name", "busy", "--balance", "100.00", "--json");
  const { liveKey } = JSON.parse(made) as { liveKey: string };
  const previous = await startServer(folder);
  const previousWorker = await startWorker(folder);
  let servers = [previous.url];
  const callers = startCallers(liveKey, () => servers, 8);
  await callers.more(50);

  // 1. The migrations, while the version before serves.
  const applied = await migrate(direct.PENNYBLACK_DIRECT_DATABASE_URL, console.error);
  assert.equal(applied.length, expectedMigrations().length - before);
  await callers.more(50);
  // 2. Both, side by side; also their workers.
  const next = await startServer(root);
  const nextWorker = await startWorker(root);
  servers = [previous.url, next.url];
  await callers.more(100);
  // 3. The balancer looks away from the version before, which then leaves.
  servers = [next.url];
  assert.equal(await previous.stop(), 0);
  assert.equal(await previousWorker.stop(), 0);
  await callers.more(50);

  const { ok, failures } = await callers.stop();
  assert.deepEqual(failures, []);
  assert.deepEqual([await next.stop(), await nextWorker.stop()], [0, 0]);
  const report = await reconcile(owner);
  assert.ok(report.isClean, formatReport(report));
  const { rows } = await owner.query<{ spent: bigint }>("select sum(debited_micros)::bigint as spent from pb.wallets");
  assert.equal(rows[0]?.spent, BigInt(ok) * 10_000n);
});
