import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, test } from "node:test";
import { createPool } from "../../src/db/pool.ts";
import { choosePort } from "../../src/dev/choose-port.ts";
import { findAccount } from "../../src/dev/postgres-programs.ts";
import { prepareDatabase } from "../../src/dev/prepare-database.ts";
import { superviseProcess } from "../faults/chaos/supervised-process.ts";
import { until } from "../support/assertions/until.ts";
import { parseCodeBlocks } from "../support/docs/read-code-blocks.ts";
import { makeCluster } from "../support/services/make-cluster.ts";

// Runs the commands of docs/runbooks/failover.md in order.

const root = resolve(import.meta.dirname, "../../..");
const page = readFileSync(join(root, "docs/runbooks/failover.md"), "utf8");
const blocks = parseCodeBlocks(page).filter(({ language }) => language === "sh");
const account = findAccount();
const home = mkdtempSync(join(tmpdir(), "pennyblack-failover-"));
chmodSync(home, 0o755);
const folder = join(home, "folder");
mkdirSync(folder);
chmodSync(folder, 0o777);
const [port1, port2] = [await choosePort({ host: "127.0.0.1" }), await choosePort({ host: "127.0.0.1" })];
const { programs, data: data1 } = makeCluster(folder, account);
const data2 = join(folder, "data2");
const settings = parseCodeBlocks(page).find(({ text }) => text.includes("wal_retrieve_retry_interval"))?.text ?? "";
const address = (role: string): string => `postgres://${role}@127.0.0.1:${port1},127.0.0.1:${port2}/pennyblack`;
const watcherLog = join(home, "watcher.log");
writeFileSync(watcherLog, "");

const environment = {
  PATH: `${programs}:${process.env["PATH"]}`,
  PENNYBLACK_ADMIN_DATABASE_URL: address("postgres"),
  PENNYBLACK_DIRECT_DATABASE_URL: address("pennyblack_owner"),
  PENNYBLACK_FAILOVER_ALONE_MS: "1000",
};

/** Runs the code block that contains `words`, as the account of PostgreSQL or as the current one. */
function runBlock(words: string, values: Record<string, string>, asCurrentUser = false): Promise<string> {
  const block = blocks.find(({ text }) => text.includes(words));
  assert.ok(block, `the runbook has a block with ${words}`);
  return new Promise((done, fail) => {
    execFile(
      "/bin/sh",
      ["-euc", block.text],
      {
        env: { ...environment, ...values },
        cwd: asCurrentUser ? root : folder,
        timeout: 60_000,
        ...(asCurrentUser ? {} : account),
      },
      (error, out, err) => (error ? fail(new Error(`${block.text}\n${out}${err}`)) : done(`${out}${err}`)),
    );
  });
}

function pgCtl(data: string, ...words: string[]): Promise<void> {
  return new Promise((done) => {
    execFile(join(programs, "pg_ctl"), ["--pgdata", data, ...words], { cwd: folder, ...account }, () => done());
  });
}

const watcher = superviseProcess({
  name: "watcher",
  program: "/bin/sh",
  args: ["-euc", `cd ${root}; ${blocks.find(({ text }) => text.trim() === "npm run failover")?.text}`],
  environment,
  logFile: watcherLog,
  folder: home,
});
const watched = (): string => readFileSync(watcherLog, "utf8");

const pool = createPool({
  url: address("pennyblack_owner"),
  name: "test",
  connections: 2,
  onIdleError: () => undefined,
});
/** Retried, because backends of a killed primary keep running for a moment before they disconnect. */
const wallets = async (): Promise<number> => {
  let count: bigint | undefined;
  await until("wallets are counted", async () => {
    count = await pool.query<{ count: bigint }>("select count(*) from pb.wallets").then(
      ({ rows }) => rows[0]?.count,
      () => undefined,
    );
    return count !== undefined;
  });
  return Number(count);
};
/** Idempotent, so that it can be repeated after an unknown outcome. */
const addWallet = (id: string) =>
  pool.query("insert into pb.wallets (id, name) values ($1, 'a wallet') on conflict do nothing", [id]);
const ids = Array.from({ length: 4 }, () => randomUUID());
const untilAdded = (id = ""): Promise<void> =>
  until("it accepts writes", () => addWallet(id).then(Boolean, () => false));

after(async () => {
  await watcher.stop("SIGKILL");
  await pool.end();
  for (const data of [data1, data2]) await pgCtl(data, "--mode=immediate", "stop");
  rmSync(home, { recursive: true, force: true });
});

test("the runbook sets up a pair, no acknowledged write is lost when the primary is killed, and the pair is rebuilt", async (t) => {
  writeFileSync(
    join(data1, "postgresql.conf"),
    `listen_addresses = '127.0.0.1'\nunix_socket_directories = ''\n${settings}`,
  );
  await pgCtl(data1, "--log", join(folder, "log1"), "--options", `-p ${port1}`, "--wait", "start");
  await prepareDatabase(`postgres://postgres@127.0.0.1:${port1}/pennyblack`);
  const first = { PRIMARY_HOST: "127.0.0.1", PRIMARY_PORT: String(port1) };
  await runBlock("$REPLICA_DATA", { ...first, REPLICA_DATA: data2, REPLICA_PORT: String(port2) });
  watcher.start();
  await until("a failover is safe", () => watched().includes('"replica in sync"'));
  const [one = "", two = ""] = (await runBlock("-- status", {}, true)).split("\n").filter((line) => line.includes(":"));
  assert.match(one, /primary on timeline 1, synchronous commit on, replica lag \d+ bytes/);
  assert.match(two, /replica, streaming/);

  await untilAdded(ids[0]);
  const killedAt = performance.now();
  const pid = Number(readFileSync(join(data1, "postmaster.pid"), "utf8").split("\n", 1)[0]);
  process.kill(pid, "SIGKILL");
  await untilAdded(ids[1]);
  t.diagnostic(`${Math.round(performance.now() - killedAt)} ms from the kill to the next commit`);
  assert.equal(await wallets(), 2, "acknowledged writes are present");
  await until("the failover is logged", () =>
    /"primary unavailable".*"promoting replica".*"replica promoted"/s.test(watched()),
  );

  const second = { NEW_HOST: "127.0.0.1", NEW_PORT: String(port2), OLD_DATA: data1, OLD_PORT: String(port1) };
  await runBlock("$OLD_DATA", second);
  await until("a failover is safe again", () => watched().split('"replica in sync"').length === 3);
  const [now = "", then = ""] = (await runBlock("-- status", {}, true))
    .split("\n")
    .filter((line) => line.includes(":"));
  assert.match(now, /replica, streaming/);
  assert.match(then, /primary on timeline 2, synchronous commit on/);
  assert.match(await runBlock("reconcile", {}, true), /Clean at/);
});

test("a primary that continued without its replica is replaced only by hand, as in the runbook", async () => {
  await pgCtl(data1, "--mode=immediate", "stop");
  await until("the primary continues without its replica", () => watched().includes('"synchronous commit off"'));
  await untilAdded(ids[2]);
  // The replica restarts without the primary, so it lacks the wallet that was just acknowledged.
  await pgCtl(data2, "--mode=immediate", "stop");
  await pgCtl(data1, "--log", join(folder, "log1"), "--options", `-p ${port1}`, "--wait", "start");
  await until("the watcher refuses to promote", () => watched().includes('"promotion refused"'));
  await runBlock("pg_promote()", { REPLICA_HOST: "127.0.0.1", REPLICA_PORT: String(port1) });
  await untilAdded(ids[3]);
  assert.equal(await wallets(), 3, "one of four is lost, as the runbook explains");
});

test("a primary that returns on an old timeline gets no writes", async () => {
  await pgCtl(data2, "--log", join(folder, "log2"), "--options", `-p ${port2}`, "--wait", "start");
  await until("the watcher reports it", () => watched().includes('"two primaries"'));
  const fresh = createPool({
    url: address("pennyblack_owner"),
    name: "test",
    connections: 1,
    onIdleError: () => undefined,
  });
  const { rows } = await fresh.query<{ port: string }>("select current_setting('port') as port");
  await fresh.end();
  assert.equal(rows[0]?.port, String(port1), "the primary that was promoted later");
});
