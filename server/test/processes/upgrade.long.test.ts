import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { migrate } from "../../src/db/migrate.ts";
import { createPool, type Pool } from "../../src/db/pool.ts";
import { createRoles, grantDatabase, withRole } from "../../src/db/roles.ts";
import { readSchemaFiles } from "../../src/db/schema-files.ts";
import { formatReport, reconcile } from "../../src/wallet/upkeep/reconcile.ts";
import { type LaunchedProcess, launchProcess } from "../attack/fuzz/launch-server.ts";
import { type DelayedUpstream, startDelayedUpstream } from "../faults/crashes/delayed-upstream.ts";
import { until } from "../support/assertions/until.ts";
import { compileCache } from "../support/services/compile-cache.ts";
import { superuserUrl } from "../support/services/database.ts";
import { runSql } from "./run-sql.ts";

// A rolling upgrade under load: the previous release serves while this one's schema is applied, both serve side by side,
// then the previous one stops. No search may fail.
//
// The previous release is the commit that created the baseline. The next one is the working tree with another signature of
// pb.hold and a changed trigger on pb.wallets, and its schema has to wait 30 s for that table's lock.

const root = resolve(import.meta.dirname, "../../..");
const name = `pb_test_${randomBytes(6).toString("hex")}`;
const folder = mkdtempSync(join(tmpdir(), "pennyblack-previous-"));
const nextFolder = mkdtempSync(join(tmpdir(), "pennyblack-next-"));
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
const nextVersion = readSchemaFiles().version + 1;
const direct = { PENNYBLACK_DIRECT_DATABASE_URL: withRole(at, "owner") };

let upstream: DelayedUpstream;
let owner: Pool;
const processes: LaunchedProcess[] = [];
const load = { isOn: true };

before(async () => {
  upstream = await startDelayedUpstream();
  upstream.maxDelayMs = 20;
  if (previous !== undefined) unpack(previous);
  writeNextRelease();
  const superuser = new pg.Client({ connectionString: superuserUrl });
  await superuser.connect();
  await createRoles(superuser, {});
  await superuser.query(`create database ${name} owner pennyblack_owner`);
  await grantDatabase(superuser, name);
  await superuser.end();
  owner = createPool({
    url: direct.PENNYBLACK_DIRECT_DATABASE_URL,
    name: "test",
    connections: 2,
    onIdleError: () => {},
  });
});

after(async () => {
  // If the test fails, its callers still run.
  load.isOn = false;
  for (const { process: child } of processes) child.kill("SIGKILL");
  await owner.end();
  await upstream.close();
  await runSql(superuserUrl, `drop database ${name} with (force)`);
  for (const each of [folder, nextFolder]) rmSync(each, { recursive: true });
});

/** The commit that added the baseline, or undefined in a shallow clone. */
function findPreviousVersion(): string | undefined {
  const added = git("log", "--diff-filter=A", "--format=%H", "--", "server/migrations/0001_baseline.sql");
  return added.split("\n").at(-1) || undefined;
}

function git(...args: string[]): string {
  return execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
}

/** The committed files, with the packages of the working tree. */
function unpack(commit: string): void {
  execFileSync("sh", ["-c", `git archive ${commit} server package.json | tar -x -C "${folder}"`], { cwd: root });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
}

function writeNextRelease(): void {
  cpSync(join(root, "server"), join(nextFolder, "server"), { recursive: true });
  cpSync(join(root, "package.json"), join(nextFolder, "package.json"));
  symlinkSync(join(root, "node_modules"), join(nextFolder, "node_modules"));
  edit(
    "sql/hold.sql",
    /create or replace function pb\.hold\([^)]*\n(?=\))/,
    (text) => `${dropHold}\n${text.trimEnd()},\n  region text default null\n`,
  );
  edit("sql/triggers.sql", /create or replace trigger emit_balance_events/, (text) => `-- Changed.\n${text}`);
  edit("sql/VERSION", /^\d+/, () => String(nextVersion));
}

/** Whatever its arguments are, in this release or the previous one. */
const dropHold = `do $drop$
declare old regprocedure;
begin
  for old in select oid from pg_proc where pronamespace = 'pb'::regnamespace and proname = 'hold' loop
    execute format('drop function %s', old);
  end loop;
end $drop$;`;

function edit(file: string, pattern: RegExp, replace: (found: string) => string): void {
  const path = join(nextFolder, "server", file);
  const text = readFileSync(path, "utf8");
  assert.match(text, pattern);
  writeFileSync(path, text.replace(pattern, replace));
}

/** Starts a server or worker of the release in a folder. */
async function start(home: string, script: string, settings: Record<string, string>): Promise<LaunchedProcess> {
  const launched = await launchProcess(join(home, "server/src", script), { ...secrets, ...settings });
  processes.push(launched);
  return launched;
}

function stop({ process: child, ended }: LaunchedProcess): Promise<number | null> {
  child.kill("SIGTERM");
  return ended;
}

const startServer = (home: string): Promise<LaunchedProcess> =>
  start(home, "main.ts", { ...urls, PENNYBLACK_SEARXNG_URL: upstream.url, PENNYBLACK_LOG_LEVEL: "warn" });
const startWorker = (home: string, settings: Record<string, string>): Promise<LaunchedProcess> =>
  start(home, "jobs/main.ts", settings);

function adminOfPrevious(...args: string[]): string {
  return execFileSync(process.execPath, [join(folder, "server/src/admin/main.ts"), ...args], {
    env: { ...compileCache, ...urls, ...direct, ...secrets },
    encoding: "utf8",
  });
}

/** Callers that search continuously and record every failure. */
function startCallers(key: string, servers: () => readonly string[], callers: number) {
  const counts = { ok: 0, failures: [] as string[] };
  async function call(): Promise<void> {
    while (load.isOn) {
      const urls = servers();
      const url = urls[Math.floor(Math.random() * urls.length)] ?? "";
      try {
        const response = await fetch(`${url}/v1/search`, {
          method: "POST",
          headers: {
            "x-api-key": key,
            "content-type": "application/json",
            "idempotency-key": randomUUID(),
            "search-run": "upgrade; max=100.00",
          },
          body: JSON.stringify({ query: randomUUID() }),
        });
        const text = await response.text();
        if (response.status === 200) counts.ok += 1;
        else counts.failures.push(`${response.status} ${text}`);
      } catch (error) {
        counts.failures.push(String(error instanceof Error ? (error.cause ?? error) : error));
      }
      // Continuous load, but not so much that searches time out on a busy machine.
      await wait(50);
    }
  }
  const running = Array.from({ length: callers }, call);
  return {
    /** Waits for `count` more answers without a failure. */
    async more(count: number): Promise<void> {
      const target = counts.ok + count;
      await until("searches are answered", () => counts.ok >= target || counts.failures.length > 0);
      assert.deepEqual(counts.failures, []);
    },
    async stop() {
      load.isOn = false;
      await Promise.all(running);
      return counts;
    },
  };
}

const skip = previous === undefined ? "a shallow clone does not contain the previous release" : false;

test("no search fails and no charge is lost during an upgrade under load", { skip, timeout: 400_000 }, async () => {
  adminOfPrevious("database", "setup");
  const made = adminOfPrevious("wallet", "create", "--name", "busy", "--balance", "100.00", "--json");
  const { liveKey } = JSON.parse(made) as { liveKey: string };
  const previous = await startServer(folder);
  const previousWorker = await startWorker(folder, direct);
  let servers = [previous.url];
  const callers = startCallers(liveKey, () => servers, 8);
  await callers.more(50);

  // 1. The schema, while the previous release serves and a lock on pb.wallets delays it.
  const unlock = await lockWallets();
  const lines: string[] = [];
  const migrating = migrate(
    direct.PENNYBLACK_DIRECT_DATABASE_URL,
    (line) => lines.push(line),
    join(nextFolder, "server"),
  );
  await wait(30_000);
  assert.deepEqual([lines.length > 0, await hasNewArgument()], [true, false], "the schema waits for the lock");
  await unlock();
  assert.equal((await migrating).version, nextVersion);
  assert.equal(await hasNewArgument(), true);
  await callers.more(50);
  // 2. Both releases side by side, with their workers.
  const next = await startServer(nextFolder);
  const nextWorker = await startWorker(nextFolder, { PENNYBLACK_WORKER_DATABASE_URL: withRole(at, "worker") });
  servers = [previous.url, next.url];
  await callers.more(100);
  const retried = [
    await retryElsewhere(liveKey, previous.url, next.url),
    await retryElsewhere(liveKey, next.url, previous.url),
  ];
  // 3. The load balancer removes the previous release, which then stops.
  servers = [next.url];
  assert.equal(await stop(previous), 0);
  assert.equal(await stop(previousWorker), 0);
  await callers.more(50);
  // 4. A rolled-back init job must not revert the functions.
  assert.throws(
    () => adminOfPrevious("database", "setup"),
    new RegExp(`has schema version ${nextVersion}; this release`),
  );

  const { ok, failures } = await callers.stop();
  assert.deepEqual(failures, []);
  assert.deepEqual([await stop(next), await stop(nextWorker)], [0, 0]);
  const report = await reconcile(owner);
  assert.ok(report.isClean, formatReport(report));
  const { rows } = await owner.query<{ spent: bigint }>("select sum(debited_micros)::bigint as spent from pb.wallets");
  assert.equal(rows[0]?.spent, BigInt(ok + retried.length) * 10_000n);
});

/** A search on one release is free when it is retried on the other, whose fingerprints differ. */
async function retryElsewhere(key: string, firstUrl: string, secondUrl: string): Promise<void> {
  const idempotencyKey = randomUUID();
  const search = async (url: string): Promise<unknown[]> => {
    const response = await fetch(`${url}/v1/search`, {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json", "idempotency-key": idempotencyKey },
      body: JSON.stringify({ query: `retried ${idempotencyKey}` }),
    });
    return [response.status, response.headers.get("wallet-charge"), await response.text()];
  };
  const [status, charge, text] = await search(firstUrl);
  assert.deepEqual([status, charge], [200, "0.01;currency=usd"], String(text));
  for (const url of [secondUrl, firstUrl]) assert.deepEqual(await search(url), [200, "0.00;currency=usd", text]);
}

/** Conflicts with the replacement of a trigger, not with searches. Not from a pool, which limits idle transactions. */
async function lockWallets(): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: direct.PENNYBLACK_DIRECT_DATABASE_URL });
  await client.connect();
  await client.query("begin");
  await client.query("lock table pb.wallets in share update exclusive mode");
  return async () => {
    await client.query("commit");
    await client.end();
  };
}

async function hasNewArgument(): Promise<boolean | undefined> {
  const { rows } = await owner.query<{ is: boolean }>(
    "select 'region' = any (proargnames) as is from pg_proc where proname = 'hold'",
  );
  assert.equal(rows.length, 1);
  return rows[0]?.is;
}
