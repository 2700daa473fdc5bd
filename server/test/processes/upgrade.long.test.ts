import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { edgeFiles } from "../../src/cells/edge-config.ts";
import { migrate } from "../../src/db/migrate.ts";
import { createPool, type Pool } from "../../src/db/pool.ts";
import { createRoles, grantDatabase, withRole } from "../../src/db/roles.ts";
import { readSchemaFiles } from "../../src/db/schema-files.ts";
import { choosePort } from "../../src/dev/choose-port.ts";
import { formatReport, reconcile } from "../../src/wallet/upkeep/reconcile.ts";
import { type LaunchedProcess, launchProcess } from "../attack/fuzz/launch-server.ts";
import { type DelayedUpstream, startDelayedUpstream } from "../faults/crashes/delayed-upstream.ts";
import { until } from "../support/assertions/until.ts";
import { compileCache } from "../support/services/compile-cache.ts";
import { superuserUrl } from "../support/services/database.ts";
import { runHaproxy } from "../support/services/haproxy.ts";
import { runSql } from "./run-sql.ts";

// A rolling upgrade and a rollback under load, with a folder for each release and a link to the one in use, as in
// docs/install.md. Two servers run behind HAProxy and are restarted one after the other. No search may fail.
//
// The previous release is the newest tag, and until there is one a copy of the working tree. The next one is the working tree
// with another signature of pb.hold and a changed trigger on pb.wallets, and its schema has to wait 30 s for that table's lock.

const root = resolve(import.meta.dirname, "../../..");
const name = `pb_test_${randomBytes(6).toString("hex")}`;
const home = mkdtempSync(join(tmpdir(), "pennyblack-releases-"));
const folders = { previous: join(home, "releases/previous"), next: join(home, "releases/next") };
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
const nextVersion = readSchemaFiles().version + 1;
const direct = { PENNYBLACK_DIRECT_DATABASE_URL: withRole(at, "owner") };

let upstream: DelayedUpstream;
let owner: Pool;
const processes: LaunchedProcess[] = [];
const load = { isOn: true };

before(async () => {
  upstream = await startDelayedUpstream();
  upstream.maxDelayMs = 20;
  writePreviousRelease();
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
  rmSync(home, { recursive: true });
});

/** Undefined until the first release. */
function findNewestTag(): string | undefined {
  const tags = execFileSync("git", ["tag", "--list", "v*", "--sort=-v:refname"], { cwd: root, encoding: "utf8" });
  return tags.split("\n")[0] || undefined;
}

/** The files of a release, with the packages of the working tree. */
function writePreviousRelease(): void {
  const tag = findNewestTag();
  if (tag === undefined) return copyWorkingTree(folders.previous);
  mkdirSync(folders.previous, { recursive: true });
  execFileSync("sh", ["-c", `git archive ${tag} server package.json | tar -x -C "${folders.previous}"`], { cwd: root });
  symlinkSync(join(root, "node_modules"), join(folders.previous, "node_modules"));
}

function copyWorkingTree(to: string): void {
  cpSync(join(root, "server"), join(to, "server"), { recursive: true });
  cpSync(join(root, "package.json"), join(to, "package.json"));
  symlinkSync(join(root, "node_modules"), join(to, "node_modules"));
}

function writeNextRelease(): void {
  copyWorkingTree(folders.next);
  edit(
    "sql/hold.sql",
    /create or replace function pb\.hold\([^)]*\n(?=\))/,
    (text) => `${dropHold}\n${text.trimEnd()},\n  region text default null\n`,
  );
  edit("sql/triggers.sql", /create or replace trigger emit_balance_events/, (text) => `-- Changed.\n${text}`);
  edit("sql/VERSION", /^\d+/, () => String(nextVersion));
}

/** Works with any arguments, in this release or the previous one. */
const dropHold = `do $drop$
declare old regprocedure;
begin
  for old in select oid from pg_proc where pronamespace = 'pb'::regnamespace and proname = 'hold' loop
    execute format('drop function %s', old);
  end loop;
end $drop$;`;

function edit(file: string, pattern: RegExp, replace: (found: string) => string): void {
  const path = join(folders.next, "server", file);
  const text = readFileSync(path, "utf8");
  assert.match(text, pattern);
  writeFileSync(path, text.replace(pattern, replace));
}

/** Leads the link to a release, as `ln` and `mv --no-target-directory` do. Processes that run are not affected. */
function useRelease(release: keyof typeof folders): void {
  symlinkSync(`releases/${release}`, join(home, "link"));
  renameSync(join(home, "link"), join(home, "current"));
}

/** Starts a server or worker of the release in use. As systemd does, again if its first connection timed out. */
async function start(script: string, settings: Record<string, string>): Promise<LaunchedProcess> {
  for (;;) {
    try {
      const launched = await launchProcess(join(home, "current/server/src", script), { ...secrets, ...settings });
      processes.push(launched);
      return launched;
    } catch (error) {
      if (!String(error).includes("cannot be used (no connection)")) throw error;
    }
  }
}

async function stop({ process: child, ended, output }: LaunchedProcess): Promise<void> {
  child.kill("SIGTERM");
  assert.equal(await ended, 0, output());
}

/** Servers on two machines have the same ports. */
const hosts = ["127.0.0.2", "127.0.0.3"] as const;
const [port, opsPort] = [await choosePort({ host: hosts[0] }), await choosePort({ host: hosts[0] })];

const startServer = (host: string): Promise<LaunchedProcess> =>
  start("main.ts", {
    ...urls,
    HOST: host,
    PORT: String(port),
    PENNYBLACK_OPS_HOST: host,
    PENNYBLACK_OPS_PORT: String(opsPort),
    PENNYBLACK_TRUSTED_PROXIES: "127.0.0.0/8",
    PENNYBLACK_SEARXNG_URL: upstream.url,
    PENNYBLACK_LOG_LEVEL: "warn",
  });
const startWorker = (): Promise<LaunchedProcess> =>
  start("jobs/main.ts", { PENNYBLACK_WORKER_DATABASE_URL: withRole(at, "worker") });

/** HAProxy with the configuration of `npm run edge`. */
async function startProxy(): Promise<string> {
  const proxyPort = await choosePort({ host: "127.0.0.1" });
  const cell = { host: "api.example.com", servers: hosts.map((host) => `${host}:${port}`), opsPort };
  const files = edgeFiles(
    { defaultCell: "eu1", cells: { eu1: cell } },
    { bind: `127.0.0.1:${proxyPort}`, folder: home },
  );
  for (const [file, content] of Object.entries(files)) writeFileSync(join(home, file), content);
  const url = `http://127.0.0.1:${proxyPort}`;
  await runHaproxy(join(home, "haproxy.cfg"), url);
  return url;
}

function adminOfPrevious(...args: string[]): string {
  return execFileSync(process.execPath, [join(folders.previous, "server/src/admin/main.ts"), ...args], {
    env: { ...compileCache, ...urls, ...direct, ...secrets },
    encoding: "utf8",
  });
}

/** Callers that search continuously and record every failure. */
function startCallers(key: string, url: string, callers: number) {
  const counts = { ok: 0, failures: [] as string[] };
  async function call(): Promise<void> {
    while (load.isOn) {
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

test("no search fails and no charge is lost during an upgrade and a rollback under load", {
  timeout: 900_000,
}, async (t) => {
  adminOfPrevious("database", "setup");
  const made = adminOfPrevious("wallet", "create", "--name", "busy", "--balance", "100.00", "--json");
  const { liveKey } = JSON.parse(made) as { liveKey: string };
  useRelease("previous");
  const servers = [await startServer(hosts[0]), await startServer(hosts[1])] as const;
  const worker = await startWorker();
  const callers = startCallers(liveKey, await startProxy(), 8);
  await callers.more(50);

  await migrateUnderLoad();
  await callers.more(50);
  useRelease("next");
  const upgraded = await restart(servers[0], hosts[0]);
  await callers.more(50);
  const retried = [
    await retryElsewhere(liveKey, servers[1].url, upgraded.url),
    await retryElsewhere(liveKey, upgraded.url, servers[1].url),
  ];
  const next = [upgraded, await restart(servers[1], hosts[1])] as const;
  await stop(worker);
  const nextWorker = await startWorker();
  await callers.more(50);
  assert.throws(
    () => adminOfPrevious("database", "setup"),
    new RegExp(`has schema version ${nextVersion}; this release`),
    "a rolled-back init job must not revert the functions",
  );

  useRelease("previous");
  for (const [index, server] of next.entries()) {
    await restart(server, hosts[index] ?? "");
    await callers.more(50);
  }
  await stop(nextWorker);
  await startWorker();
  await callers.more(50);

  const { ok, failures } = await callers.stop();
  t.diagnostic(`${ok} searches answered, ${failures.length} failed`);
  assert.deepEqual(failures, []);
  const report = await reconcile(owner);
  assert.ok(report.isClean, formatReport(report));
  const { rows } = await owner.query<{ spent: bigint }>("select sum(debited_micros)::bigint as spent from pb.wallets");
  assert.equal(rows[0]?.spent, BigInt(ok + retried.length) * 10_000n);
});

/** Replaces a server by one of the release in use, on the same address. */
async function restart(server: LaunchedProcess, host: string): Promise<LaunchedProcess> {
  await stop(server);
  return await startServer(host);
}

/** The schema of the next release, while a lock on pb.wallets delays it. */
async function migrateUnderLoad(): Promise<void> {
  const unlock = await lockWallets();
  const lines: string[] = [];
  const migrating = migrate(direct.PENNYBLACK_DIRECT_DATABASE_URL, (line) => lines.push(line), {
    folder: join(folders.next, "server"),
  });
  await wait(30_000);
  assert.deepEqual([lines.length > 0, await hasNewArgument()], [true, false], "the schema waits for the lock");
  await unlock();
  assert.equal((await migrating).version, nextVersion);
  assert.equal(await hasNewArgument(), true);
}

/** A search on one release is free when it is retried on the other. */
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
