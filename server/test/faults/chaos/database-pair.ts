import { execFile, execFileSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";
import { choosePort } from "../../../src/dev/choose-port.ts";
import { type Account, findAccount } from "../../../src/dev/postgres-programs.ts";
import { until } from "../../support/assertions/until.ts";
import { makeCluster } from "../../support/services/make-cluster.ts";
import { type SupervisedProcess, superviseProcess } from "./supervised-process.ts";

// A primary and its replica, each on its own small disk. `heal` runs the commands that docs/runbooks/failover.md prescribes
// after a failover. `npm run failover` does the promotion.

export interface Node {
  name: string;
  port: number;
  folder: string;
  data: string;
  process: SupervisedProcess;
  url: string;
}

export interface DatabasePair {
  nodes: readonly [Node, Node];
  /** The reason why the disks cannot be filled, if they cannot. */
  noDiskReason: string | undefined;
  /** The URL of a database, with both hosts. */
  urlOf(role: string, database: string): string;
  /** The current primary; of two, the one promoted later. */
  findPrimary(): Promise<Node | undefined>;
  other(node: Node): Node;
  /** Waits for a primary with a synchronous replica, and rebuilds the replica if necessary. Returns what it did. */
  heal(): Promise<"nothing" | "waited" | "rebuilt the replica">;
  close(): Promise<void>;
}

const settings = [
  "listen_addresses=127.0.0.1",
  "unix_socket_directories=",
  "max_connections=300",
  "shared_buffers=256MB",
  "max_wal_size=512MB",
  "wal_keep_size=256MB",
  // As in the runbook: a replica retries its primary, and checks whether to end recovery, ten times a second.
  "wal_retrieve_retry_interval=100ms",
  "wal_receiver_timeout=5s",
  "wal_sender_timeout=5s",
];

export async function startDatabasePair(home: string, diskMib: number): Promise<DatabasePair> {
  const account = findAccount();
  const folders = ["db1", "db2"].map((name) => join(home, name));
  for (const folder of folders) mkdirSync(folder);
  const noDiskReason = folders.map((folder) => mountDisk(folder, diskMib)).find((reason) => reason !== undefined);
  // In case the process exits without closing.
  const unmount = (): void => folders.forEach(unmountDisk);
  process.once("exit", unmount);
  for (const folder of folders) prepareFolder(folder, account);
  const { programs } = makeCluster(folders[0] ?? "", account);
  const tools = { account, programs };
  const nodes = [await makeNode("db1", home, tools), await makeNode("db2", home, tools)] as const;
  const [first, second] = nodes;
  first.process.start();
  await until("the primary accepts connections", async () => (await timelineOf(first)) > 0);
  await buildReplica(tools, first, second);

  const other = (node: Node): Node => (node === first ? second : first);
  return {
    nodes,
    noDiskReason,
    urlOf: (role, database) =>
      `postgres://${role}@${nodes.map((node) => `127.0.0.1:${node.port}`).join(",")}/${database}`,
    findPrimary: () => findPrimary(nodes),
    other,
    heal: () => heal(nodes, (primary) => buildReplica(tools, primary, other(primary))),
    async close() {
      await Promise.all(nodes.map((node) => node.process.stop("SIGQUIT")));
      unmount();
      process.removeListener("exit", unmount);
    },
  };
}

async function makeNode(name: string, home: string, { account, programs }: Programs): Promise<Node> {
  const port = await choosePort({ host: "127.0.0.1" });
  const folder = join(home, name);
  const data = join(folder, "data");
  const process = superviseProcess({
    name,
    program: join(programs, "postgres"),
    args: ["-D", data, "-p", String(port), ...settings.flatMap((setting) => ["-c", setting])],
    account,
    logFile: join(home, `${name}.log`),
    folder: home,
  });
  return { name, port, folder, data, url: `postgres://postgres@127.0.0.1:${port}/postgres`, process };
}

async function findPrimary(nodes: readonly Node[]): Promise<Node | undefined> {
  const timelines = await Promise.all(nodes.map(timelineOf));
  const latest = Math.max(...timelines);
  return latest > 0 ? nodes[timelines.indexOf(latest)] : undefined;
}

type Healed = Awaited<ReturnType<DatabasePair["heal"]>>;

async function heal(nodes: readonly Node[], rebuildReplicaOf: (primary: Node) => Promise<void>): Promise<Healed> {
  if (await isWhole(nodes)) return "nothing";
  const deadline = performance.now() + 8_000;
  while (performance.now() < deadline) {
    if (await isWhole(nodes)) return "waited";
    // A retired host or a second primary does not become a replica automatically.
    const timelines = await Promise.all(nodes.map(timelineOf));
    if (timelines.every((timeline) => timeline > 0) || nodes.some((node) => !node.process.shouldRun())) break;
    await wait(100);
  }
  await until("there is a primary", async () => (await findPrimary(nodes)) !== undefined);
  const primary = await findPrimary(nodes);
  if (primary) await rebuildReplicaOf(primary);
  await until("the replica is synchronous", () => isWhole(nodes));
  return "rebuilt the replica";
}

async function isWhole(nodes: readonly Node[]): Promise<boolean> {
  const primary = await findPrimary(nodes);
  if (!primary) return false;
  const rows = await query(
    primary,
    `select from pg_stat_replication
     where state = 'streaming' and sync_state = 'sync' and current_setting('synchronous_standby_names') <> ''`,
  );
  return rows.length === 1;
}

interface Programs {
  account: Account | undefined;
  programs: string;
}

/** As in the runbook: empty the folder, copy the primary, start as its replica. */
async function buildReplica({ account, programs }: Programs, primary: Node, replica: Node): Promise<void> {
  await replica.process.stop("SIGKILL");
  rmSync(replica.data, { recursive: true, force: true });
  const source = `host=127.0.0.1 port=${primary.port} user=postgres application_name=pennyblack_replica`;
  await promisify(execFile)(
    join(programs, "pg_basebackup"),
    ["--pgdata", replica.data, "--dbname", source, "--write-recovery-conf", "--checkpoint=fast", "--no-sync"],
    { ...account, cwd: replica.folder },
  );
  replica.process.start();
}

/** 0 if the node is a replica or unavailable. */
async function timelineOf(node: Node): Promise<number> {
  const rows = await query(
    node,
    "select case when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_lsn()), 8) end as timeline",
  );
  return Number.parseInt(rows[0]?.["timeline"] ?? "0", 16);
}

async function query(node: Node, statement: string): Promise<Record<string, string | null>[]> {
  const client = new pg.Client({ connectionString: node.url, connectionTimeoutMillis: 1_000, query_timeout: 1_000 });
  client.on("error", () => undefined);
  try {
    await client.connect();
    return (await client.query<Record<string, string | null>>(statement)).rows;
  } catch {
    return [];
  } finally {
    client.end().catch(() => undefined);
  }
}

function prepareFolder(folder: string, account: Account | undefined): void {
  if (account) chownSync(folder, account.uid, account.gid);
  chmodSync(folder, 0o700);
}

function mountDisk(folder: string, mib: number): string | undefined {
  if (process.getuid?.() !== 0) return "mounting a small disk requires root";
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${mib}m`, "tmpfs", folder], { stdio: "ignore" });
    return undefined;
  } catch {
    return "a small disk cannot be mounted on this machine";
  }
}

function unmountDisk(folder: string): void {
  const isMounted = readFileSync("/proc/mounts", "utf8").includes(` ${folder} `);
  if (isMounted) execFileSync("umount", ["--lazy", folder], { stdio: "ignore" });
}
