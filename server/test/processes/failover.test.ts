import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, test } from "node:test";
import { createPool } from "../../src/db/pool.ts";
import { until } from "../support/assertions/until.ts";
import { parseCodeBlocks } from "../support/docs/read-code-blocks.ts";
import { type Node, startPatroniCluster } from "../support/patroni/patroni-cluster.ts";

// Runs the commands of docs/runbooks/failover.md in order, on a cluster made from deploy/patroni.

const root = resolve(import.meta.dirname, "../../..");
const page = readFileSync(join(root, "docs/runbooks/failover.md"), "utf8");
const blocks = parseCodeBlocks(page).filter(({ language }) => language === "sh");
const home = mkdtempSync(join(tmpdir(), "pennyblack-failover-"));
chmodSync(home, 0o755);
const cluster = await startPatroniCluster({ home, diskMib: 640, isFast: false });
const address = (role: string): string => cluster.urlOf(role, "pennyblack");
const pool = createPool({
  url: address("pennyblack_owner"),
  name: "test",
  connections: 2,
  onIdleError: () => undefined,
});

after(async () => {
  await pool.end();
  await cluster.close();
  rmSync(home, { recursive: true, force: true });
});

const environment = {
  PATH: process.env["PATH"],
  LANG: "C.UTF-8",
  PATRONICTL_CONFIG_FILE: cluster.configFile,
  ...cluster.controlEnvironment,
  DATABASE_URL: address("pennyblack_ledger"),
  PENNYBLACK_TENANT_DATABASE_URL: address("pennyblack_tenant"),
  PENNYBLACK_WORKER_DATABASE_URL: address("pennyblack_worker"),
  PENNYBLACK_DIRECT_DATABASE_URL: address("pennyblack_owner"),
  PENNYBLACK_ADMIN_DATABASE_URL: cluster.urlOf("postgres", "postgres"),
};

/** Runs the code block that contains `words`. */
function runBlock(words: string, values: Record<string, string> = {}): Promise<string> {
  const block = blocks.find(({ text }) => text.includes(words)) ?? assert.fail(`no block contains ${words}`);
  return new Promise((done, fail) => {
    const options = { env: { ...environment, ...values }, cwd: root, timeout: 120_000 };
    execFile("/bin/sh", ["-euc", block.text], options, (error, out, err) =>
      error ? fail(new Error(`${block.text}\n${out}${err}`)) : done(`${out}${err}`),
    );
  });
}

async function findPrimary(): Promise<Node> {
  return (await cluster.findPrimary()) ?? assert.fail("there is no primary");
}

const addWallet = () => pool.query("insert into pb.wallets (id, name) values ($1, 'a wallet')", [randomUUID()]);
/** Retried, because a connection to the lost node fails only after a timeout. */
async function readValue(expression: string): Promise<string> {
  let value: string | undefined;
  await until(`the primary returns ${expression}`, async () => {
    const reading = pool.query<{ value: string }>(`select (${expression})::text as value`);
    value = await reading.then(
      ({ rows }) => rows[0]?.value,
      () => undefined,
    );
    return value !== undefined;
  });
  return value ?? assert.fail();
}

test("the runbook sets up the database, and shows its nodes", async () => {
  await runBlock("npm run migrate");
  await addWallet();
  const list = await runBlock("patronictl list");
  for (const role of ["Leader", "Sync Standby", "Replica"])
    assert.match(list, new RegExp(`\\| db[123] .*\\| ${role} +\\| running \\|`), list);
});

test("a switchover moves the primary, and a pause prevents a failover", async () => {
  const before = await findPrimary();
  await runBlock("patronictl switchover");
  await cluster.untilReplaced(before);
  await cluster.heal();
  await addWallet();
  assert.match(await runBlock("patronictl pause"), /management is paused.*management is resumed/s);
});

test("after a crash of Patroni, only the replica that may be promoted acknowledges commits", async () => {
  const primary = await findPrimary();
  primary.agent.signal("SIGKILL");
  await cluster.heal();
  const [, recorded] = /\| (db[123]) .*\| Sync Standby/.exec(await runBlock("patronictl list")) ?? [];
  assert.equal(await readValue("current_setting('synchronous_standby_names')"), recorded);
});

test("after the loss of a node no acknowledged write is missing, and the node can be copied again", async () => {
  await runBlock("edit-config");
  const old = await findPrimary();
  await addWallet();
  await cluster.loseNode(old);
  await cluster.untilReplaced(old);
  assert.equal(await readValue("select count(*) from pb.wallets"), "3");
  cluster.startNode(old);
  await cluster.heal();
  await runBlock("patronictl reinit", { NODE: old.name });
  await cluster.heal();
  assert.match(await runBlock("reconcile"), /Clean at/);
});

test("every command of the runbook that can run here was run", () => {
  const commands = ["npm run migrate", "list", "switchover", "pause", "reinit", "reconcile", "edit-config"];
  const left = blocks.filter(({ text }) => !commands.some((words) => text.includes(words)));
  assert.deepEqual(
    left.map(({ text }) => text.split(" ", 1)[0]),
    ["apt-get", "kubectl"],
  );
});
