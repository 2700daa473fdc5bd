import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { join, resolve } from "node:path";
import { after, test } from "node:test";
import { type ChaosCluster, openChaosCluster } from "../faults/chaos/chaos-cluster.ts";
import { healthyUpstream } from "../faults/chaos/faults.ts";
import { sendSearch } from "../faults/send-search.ts";
import { until } from "../support/assertions/until.ts";
import { parseCodeBlocks } from "../support/docs/read-code-blocks.ts";
import type { Node } from "../support/patroni/patroni-cluster.ts";
import { preparePgBackRest } from "../support/services/pgbackrest.ts";
import { createTestWallet } from "../support/services/server.ts";

// All disks of a Patroni cluster are lost. Follows "With Patroni" of docs/runbooks/restore.md with its commands.

const root = resolve(import.meta.dirname, "../../..");
const page = readFileSync(join(root, "docs/runbooks/restore.md"), "utf8");
const blocks = parseCodeBlocks(page).filter(({ language }) => language === "sh");
const isInstalled = spawnSync("pgbackrest", ["version"]).status === 0;
const skip = process.env["CI"] === undefined && !isInstalled && "pgbackrest is missing; .ci/run installs Debian's";

/** Runs the block that contains some words, with the folders of this node, as the account that runs PostgreSQL. */
function createRunner(
  { folder, database }: ChaosCluster,
  node: Node,
  backRestConfig: string,
): (words: string) => Promise<string> {
  const env = {
    PATH: process.env["PATH"],
    LANG: "C.UTF-8",
    PGHOST: node.folder,
    PATRONICTL_CONFIG_FILE: database.configFile,
    ...database.controlEnvironment,
  };
  return (words) => {
    const block = blocks.find(({ text }) => text.includes(words)) ?? assert.fail(`no block contains ${words}`);
    const text = block.text
      .replaceAll("/var/lib/postgresql/15/main", node.data)
      .replaceAll("/usr/lib/postgresql/15/bin", database.programs)
      .replaceAll("sudo -u postgres ", "")
      .replaceAll("pgbackrest --stanza", `pgbackrest --config=${backRestConfig} --stanza`);
    const options = { env, cwd: folder, timeout: 300_000, ...database.account };
    return new Promise((done, reject) => {
      execFile("/bin/bash", ["-euo", "pipefail", "-c", text], options, (error, out, err) => {
        if (error) reject(new Error(`${words}: ${error.message}\n${out}${err}`));
        else done(`${out}${err}`);
      });
    });
  };
}

test("a cluster whose disks are lost is restored from the backup and charges again", { skip }, async (t) => {
  const cluster = await openChaosCluster({ diskMib: 640, isFast: true, etcd: undefined, recoveryMs: 120_000 });
  after(() => cluster.close());
  const { database, servers } = cluster;
  await cluster.upstream.behave(...healthyUpstream);
  const wallet = await createTestWallet(cluster, "100.00");
  const node = (await database.findPrimary()) ?? assert.fail("there is no primary");
  const folder = join(cluster.folder, "backup");
  mkdirSync(folder);
  chmodSync(folder, 0o755);
  const backRest = preparePgBackRest(folder, { "pg1-socket-path": node.folder });

  const runBlock = createRunner(cluster, node, backRest.config);
  const isPaid = async (): Promise<string | undefined> => {
    const answer = await sendSearch(servers[0]?.url ?? "", { wallet, query: "cats" });
    return answer.kind === "answered" && answer.status === 200 ? answer.requestId : undefined;
  };
  const pay = async (count: number): Promise<string[]> => {
    const paid: string[] = [];
    while (paid.length < count) paid.push((await isPaid()) ?? assert.fail("a search was not paid"));
    return paid;
  };

  await runBlock("edit-config");
  await until("the primary archives", async () => {
    const { rows } = await cluster.owner.query<{ mode: string }>("select current_setting('archive_mode') as mode");
    return rows[0]?.mode === "on";
  });
  await until("a search is paid after the restart", async () => (await isPaid()) !== undefined);
  const primary = (await database.findPrimary()) ?? assert.fail("there is no primary");
  assert.equal(primary.name, node.name, "the configuration of pgBackRest names this node");
  await backRest.createStanza({ data: node.data, port: 5432 });
  await pay(5);
  await backRest.run("--type=full", "backup");
  const archived = await pay(5);
  await backRest.run("check");
  const lastArchivedMs = Date.now();

  await cluster.stopServers();
  await Promise.all(database.nodes.map(({ agent }) => agent.stop("SIGTERM")));
  for (const each of database.nodes) if (each !== node) renameSync(each.data, `${each.data}.lost`);
  const startedMs = Date.now();
  t.diagnostic(await runBlock("patronictl remove"));
  await runBlock("--wait start");
  node.agent.start();
  await until("Patroni accepts the restored database", async () => (await database.findPrimary()) === node, 60_000);
  for (const each of database.nodes) if (each !== node) each.agent.start();
  await database.heal();
  for (const each of [cluster.worker, ...servers.map((server) => server.process)]) each.start();
  await until("a search is paid", async () => (await isPaid()) !== undefined, 60_000);
  t.diagnostic(
    `RTO ${((Date.now() - startedMs) / 1_000).toFixed(1)} s; RPO: WAL archived ${((startedMs - lastArchivedMs) / 1_000).toFixed(1)} s before`,
  );

  const { rows } = await cluster.owner.query<{ charged: bigint }>(
    "select count(*) as charged from pb.transfers where search_id = any ($1)",
    [archived],
  );
  assert.equal(rows[0]?.charged, 5n, "every archived charge is in the restored ledger");
});
