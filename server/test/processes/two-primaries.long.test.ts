import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { readFileSync, renameSync } from "node:fs";
import { join, resolve } from "node:path";
import { after, test } from "node:test";
import { openChaosCluster } from "../faults/chaos/chaos-cluster.ts";
import { healthyUpstream } from "../faults/chaos/faults.ts";
import { type Answered, sendSearch } from "../faults/send-search.ts";
import { until } from "../support/assertions/until.ts";
import { parseCodeBlocks } from "../support/docs/read-code-blocks.ts";
import type { Node } from "../support/patroni/patroni-cluster.ts";
import { createTestWallet } from "../support/services/server.ts";

// Gives Patroni's lock back to a primary that was replaced, so that it is promoted to the same timeline as its successor, and
// follows docs/runbooks/two-primaries.md. The lock is written by hand, so the test does not depend on the version of Patroni.

const root = resolve(import.meta.dirname, "../../..");
const page = readFileSync(join(root, "docs/runbooks/two-primaries.md"), "utf8");
const blocks = parseCodeBlocks(page).filter(({ language }) => language === "sh");
const cluster = await openChaosCluster({ diskMib: 640, isFast: true, etcd: undefined, recoveryMs: 120_000 });
after(() => cluster.close());
const { database, servers } = cluster;
await cluster.upstream.behave(...healthyUpstream);
const wallet = await createTestWallet(cluster, "100.00");
const address = (role: string): string => database.urlOf(role, "pennyblack");
const environment = {
  PATH: process.env["PATH"],
  LANG: "C.UTF-8",
  PATRONICTL_CONFIG_FILE: database.configFile,
  ...database.controlEnvironment,
  ...cluster.settings,
  DATABASE_URL: address("pennyblack_ledger"),
  PENNYBLACK_WORKER_DATABASE_URL: address("pennyblack_worker"),
  PENNYBLACK_DIRECT_DATABASE_URL: address("pennyblack_owner"),
  DEV_ENV: "/dev/null",
};

/** Runs the code block that contains `words`, and returns its output, regardless of its exit code. */
function runBlock(words: string, values: Record<string, string> = {}): Promise<string> {
  const block = blocks.find(({ text }) => text.includes(words)) ?? assert.fail(`no block contains ${words}`);
  return new Promise((done) => {
    const options = { env: { ...environment, ...values }, cwd: root, timeout: 120_000 };
    execFile("/bin/sh", ["-euc", block.text], options, (_error, out, err) => done(`${out}${err}`));
  });
}

/** The ids of paid searches. */
const paid: string[] = [];

async function search(serverUrl: string): Promise<Answered> {
  const outcome = await sendSearch(serverUrl, { wallet, query: "cats" });
  if (outcome.kind !== "answered") assert.fail(outcome.kind);
  if (outcome.status === 200) paid.push(outcome.requestId);
  return outcome;
}

async function findPrimary(): Promise<Node> {
  return (await database.findPrimary()) ?? assert.fail("there is no primary");
}

const isPaid = async (url: string): Promise<boolean> => (await search(url).catch(() => undefined))?.status === 200;
const isPaidByAll = async (): Promise<boolean> =>
  (await Promise.all(servers.map(({ url }) => isPaid(url)))).every(Boolean);

test("a second primary on the same timeline is used by no server, and the runbook repairs the cluster", async (t) => {
  await until("every server sells", isPaidByAll);
  const wrong = await findPrimary();
  database.network.disconnect(wrong);
  const keep = await database.untilReplaced(wrong);
  await until("every server sells on the successor", isPaidByAll, 60_000);
  const timeline = await database.timelineOf(keep);

  await database.giveLock(wrong);
  database.network.reconnect(wrong);
  await until("the old primary is promoted", async () => (await database.timelineOf(wrong)) > 0, 60_000);
  assert.equal(await database.timelineOf(wrong), timeline, "the same number");
  await until("the successor is demoted", async () => (await database.timelineOf(keep)) === 0, 60_000);
  const startedAt = performance.now();
  const refused = servers.map(async ({ url, index }) => {
    const { status, code, charge } = await search(url);
    const afterMs = Math.round(performance.now() - startedAt);
    t.diagnostic(`server ${index}: ${status} ${code}, charged ${charge}, after ${afterMs} ms`);
    return [status, code, charge];
  });
  for (const answer of await Promise.all(refused))
    assert.deepEqual(answer, [503, "ledger_unavailable", "0.00;currency=usd"]);

  const doctor = await runBlock("doctor");
  t.diagnostic(doctor);
  const hasCharges = new RegExp(
    `${keep.address}:5432 has charges of timeline ${timeline}:.*the primary ${wrong.address}`,
  );
  assert.match(doctor, hasCharges);
  const isOldPatroni = execFileSync("patroni", ["--version"], { encoding: "utf8" }).trim() === "patroni 3.0.2";
  assert.equal(doctor.includes(`Patroni 3.0.2 on ${keep.address}:5432 can make a former primary leader`), isOldPatroni);
  await until("the worker reports it", async () =>
    (await cluster.readWorkerMetrics()).includes(`pennyblack_database_diverged{host="${keep.address}:5432"} 1`),
  );
  assert.match(
    await runBlock("psql", { HOST_URL: keep.url.replace(/\/postgres$/, "/pennyblack") }),
    new RegExp(`^ +${timeline} `, "m"),
  );
  assert.match(await runBlock("patronictl list"), new RegExp(`${wrong.name} .*Leader`));

  // The steps of the runbook.
  await wrong.agent.stop("SIGTERM");
  renameSync(wrong.data, `${wrong.data}.diverged`);
  const isPromoted = async (): Promise<boolean> =>
    (await Promise.all(database.replicasOf(wrong).map((node) => database.timelineOf(node)))).some(
      (each) => each > timeline,
    );
  await until("another host is promoted", isPromoted, 30_000).catch(async () => {
    t.diagnostic(await runBlock("patronictl failover", { KEEP: keep.name }));
    await until("the host is promoted", isPromoted, 60_000);
  });
  wrong.agent.start();
  await database.heal();
  await until("every server sells again", isPaidByAll);
  assert.match(await runBlock("reconcile"), /Clean at/);
  const { rows } = await cluster.owner.query<{ charged: bigint }>(
    "select count(*) as charged from pb.transfers where search_id = any ($1)",
    [paid],
  );
  assert.equal(rows[0]?.charged, BigInt(paid.length));
});

test("every command of the runbook that can run here was run", () => {
  const commands = ["doctor", "psql", "list", "failover", "reconcile"];
  const left = blocks.filter(({ text }) => !commands.some((words) => text.includes(words)));
  assert.deepEqual(
    left.map(({ text }) => text.split(" ", 1)[0]),
    ["systemctl", "systemctl"],
  );
});
