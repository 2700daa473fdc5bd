import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import pg from "pg";
import { parse } from "yaml";
import { type Account, findAccount } from "../../../src/dev/postgres-programs.ts";
import { type SupervisedProcess, superviseProcess } from "../../faults/chaos/supervised-process.ts";
import { until } from "../assertions/until.ts";
import { findClusterPrograms } from "../services/make-cluster.ts";
import { type EtcdProtocol, giveLock, hostsKeys, leadEtcd } from "./control-etcd.ts";
import { mountDisk, unmountDisk } from "./mount-disk.ts";
import { createNetwork, type Machine, type MachineNetwork } from "./node-network.ts";
import { callAgent, hasSynchronousReplica, isElectionOpen, switchOver } from "./patroni-api.ts";

// Three database nodes with the files in deploy/patroni, each with PostgreSQL, Patroni and etcd, in a network namespace and
// with its data on its own disk in memory. Only addresses, folders, sizes and authentication differ from the files.

export interface Node extends Machine {
  folder: string;
  data: string;
  /** The database "postgres", as superuser. */
  url: string;
  /** Patroni's REST API. */
  apiUrl: string;
  /** Patroni itself. PostgreSQL continues without it. */
  agent: SupervisedProcess;
  etcd: SupervisedProcess;
}

export interface PatroniCluster {
  nodes: readonly Node[];
  network: MachineNetwork;
  /** Folder of the PostgreSQL programs. */
  programs: string;
  account: Account | undefined;
  /** For patronictl. */
  configFile: string;
  controlEnvironment: Record<string, string>;
  /** The reason why the disks cannot be filled, if they cannot. */
  noDiskReason: string | undefined;
  /** The URL of a database, with all hosts. */
  urlOf(role: string, database: string): string;
  /** The primary on the latest timeline seen so far. An old primary is not returned. */
  findPrimary(): Promise<Node | undefined>;
  replicasOf(primary: Node): Node[];
  /** Of a node that accepts writes, even if it is an old primary. 0 if it is a replica or does not respond. */
  timelineOf(node: Node): Promise<number>;
  /** Kills the postmaster with SIGKILL. Its child processes notice and exit. */
  killPostgres(node: Node): void;
  /** Waits until another node is the primary, and returns it. */
  untilReplaced(old: Node): Promise<Node>;
  /**
   * The same, but undefined if Patroni may promote no other node, because the old primary was lost while it had no synchronous
   * standby on record. Patroni then waits for the old one.
   */
  findReplacement(old: Node): Promise<Node | undefined>;
  /** The machine disappears without closing its connections. */
  loseNode(node: Node): Promise<void>;
  startNode(node: Node): void;
  /** Starts PostgreSQL on a node without Patroni and waits until it accepts writes. Returns a function that stops it. */
  startAlone(node: Node): Promise<() => Promise<void>>;
  switchOver(primary: Node): Promise<void>;
  /** Makes this node's member the leader of etcd. */
  leadEtcd(node: Node): Promise<void>;
  /** Writes this node's name into Patroni's lock. */
  giveLock(node: Node): Promise<void>;
  /**
   * Waits until the primary has two replicas, one of them synchronous. Halfway to its time limit, copies a replica again that
   * does not stream, as docs/runbooks/failover.md says: if the new primary dies during pg_rewind, Patroni starts the old one
   * with incomplete data. Resolves with a description of its actions.
   */
  heal(): Promise<string>;
  /** How many replicas `heal` has copied. */
  copiedReplicas(): number;
  close(): Promise<void>;
}

export interface PatroniOptions {
  /** An existing folder that every account can read. */
  home: string;
  diskMib: number;
  /** Recovers faster from the loss of a node; see deploy/patroni/patroni.yml. */
  isFast: boolean;
  /** How long `heal` waits at most. Default: three minutes. */
  recoveryMs?: number;
  /** The protocol between Patroni and etcd. Default: as shipped. */
  etcd?: EtcdProtocol | undefined;
}

const shipped = resolve(import.meta.dirname, "../../../../deploy/patroni");
/** Whether systemd would end PostgreSQL when Patroni exits. It cannot run three nodes on one machine, so this file imitates it. */
const endsPostgres = /^KillMode=mixed$/m.test(readFileSync(join(shipped, "patroni.service.conf"), "utf8"));
const fastSettings = { ttl: 5, loop_wait: 1, retry_timeout: 2 };
const startMs = 180_000;

/** The programs that a cluster needs, with the Debian packages that have them. */
export const clusterPrograms: Readonly<Record<string, string>> = {
  etcd: "etcd-server",
  etcdctl: "etcd-client",
  ip: "iproute2",
  nsenter: "util-linux",
  patroni: "patroni",
  setpriv: "util-linux",
  tini: "tini",
};

export async function startPatroniCluster(options: PatroniOptions): Promise<PatroniCluster> {
  const { home, diskMib, etcd, recoveryMs = startMs } = options;
  const account = findAccount();
  const programs = findClusterPrograms(home, account);
  const network = createNetwork(["db1", "db2", "db3"]);
  const folders = network.machines.map(({ name }) => join(home, name));
  const disks = mountDisks(folders, { diskMib, account });

  const configFile = join(home, "patroni.yml");
  writeFileSync(configFile, JSON.stringify(readConfig(options)));
  const surroundings = { home, configFile, programs, account, network, etcd };
  const nodes = network.machines.map((machine) => makeNode(machine, surroundings));
  for (const node of nodes) node.etcd.start();
  for (const node of nodes) node.agent.start();

  const findPrimary = createPrimaryFinder(nodes);

  async function isWhole(): Promise<boolean> {
    const primary = await findPrimary();
    // Only a synchronous replica that Patroni has recorded may be promoted.
    if (!primary || !(await hasSynchronousReplica(primary))) return false;
    const replicas = await connectTo(primary, readReplication).catch(() => []);
    return replicas.length === 2 && replicas.some(({ state }) => state === "sync");
  }

  const untilWhole = (timeoutMs: number): Promise<void> =>
    until("the primary has two replicas, one of them synchronous", isWhole, timeoutMs);

  const cluster: PatroniCluster = {
    nodes,
    network,
    programs,
    account,
    configFile,
    controlEnvironment: readEnvironment(
      "node.env",
      network.machines[0] ?? { name: "", address: "", namespace: "" },
      surroundings,
    ),
    noDiskReason: disks.faultReason,
    urlOf: (role, database) =>
      `postgres://${role}@${nodes.map(({ address }) => `${address}:5432`).join(",")}/${database}`,
    findPrimary,
    replicasOf: (primary) => nodes.filter((node) => node !== primary),
    timelineOf,
    killPostgres,
    findReplacement: (old) => findReplacement(old, nodes, findPrimary),
    async untilReplaced(old) {
      const next = await findReplacement(old, nodes, findPrimary);
      if (!next) throw new Error(`no node may follow ${old.name}`);
      return next;
    },
    async loseNode(node) {
      network.disconnect(node);
      await Promise.all([node.agent.stop("SIGKILL"), node.etcd.stop("SIGKILL")]);
      network.signal(node, "SIGKILL");
    },
    startNode(node) {
      network.reconnect(node);
      node.etcd.start();
      node.agent.start();
    },
    startAlone: (node) => startAlone(node, surroundings),
    switchOver,
    leadEtcd: (node) => leadEtcd(nodes, node),
    giveLock: (node) => giveLock(nodes, node, cluster.controlEnvironment),
    ...createHealing({ nodes, findPrimary, recoveryMs, isWhole, untilWhole }),
    async close() {
      await Promise.all(nodes.flatMap(({ agent, etcd }) => [agent.stop("SIGKILL"), etcd.stop("SIGKILL")]));
      network.close();
      disks.unmount();
    },
  };
  await untilWhole(startMs);
  return cluster;
}

interface Healing {
  nodes: readonly Node[];
  findPrimary: PatroniCluster["findPrimary"];
  recoveryMs: number;
  isWhole: () => Promise<boolean>;
  untilWhole: (timeoutMs: number) => Promise<void>;
}

function createHealing(healing: Healing): Pick<PatroniCluster, "heal" | "copiedReplicas"> {
  const { nodes, findPrimary, recoveryMs, isWhole, untilWhole } = healing;
  let copies = 0;
  return {
    async heal() {
      if (await isWhole()) return "nothing";
      const copied: string[] = [];
      // Twice, because Patroni 3.0.2 can start a copied replica while the process of its old data still writes WAL there.
      const maxCopies = recoveryMs > 0 ? 2 : 0;
      for (let attempt = 0; attempt < maxCopies; attempt += 1) {
        const hasRecovered = await untilWhole(recoveryMs / 2).then(
          () => true,
          () => false,
        );
        if (hasRecovered) return copied.length === 0 ? "waited" : `copied ${copied.join(" and ")} again`;
        const lost = await copyLostReplicas(nodes, await findPrimary());
        copies += lost.length;
        copied.push(...lost);
      }
      await untilWhole(recoveryMs / 2);
      return `copied ${copied.join(" and ")} again`;
    },
    copiedReplicas: () => copies,
  };
}

function createPrimaryFinder(nodes: readonly Node[]): PatroniCluster["findPrimary"] {
  let latest = 0;
  let shared = { primary: Promise.resolve<Node | undefined>(undefined), until: 0 };

  async function queryNodes(): Promise<Node | undefined> {
    const timelines = await Promise.all(nodes.map(timelineOf));
    latest = Math.max(latest, ...timelines);
    return latest > 0 ? nodes[timelines.indexOf(latest)] : undefined;
  }

  /** Callers within this time share a result, because polling takes CPU time from the cluster. */
  return () => {
    if (shared.until < performance.now()) shared = { primary: queryNodes(), until: performance.now() + 200 };
    return shared.primary;
  };
}

interface Disks {
  /** Why they could not be mounted, if they could not. */
  faultReason: string | undefined;
  unmount(): void;
}

function mountDisks(folders: string[], { diskMib, account }: { diskMib: number; account: Account | undefined }): Disks {
  for (const folder of folders) mkdirSync(folder);
  const faultReason = folders.map((folder) => mountDisk(folder, diskMib)).find((reason) => reason !== undefined);
  for (const folder of folders) {
    if (account) chownSync(folder, account.uid, account.gid);
    chmodSync(folder, 0o700);
  }
  function unmount(): void {
    process.removeListener("exit", unmount);
    folders.forEach(unmountDisk);
  }
  // In case the process exits without closing.
  process.once("exit", unmount);
  return { faultReason, unmount };
}

interface DynamicConfig {
  postgresql: { parameters: Record<string, string | number> };
}

interface PatroniConfig {
  bootstrap: { dcs: DynamicConfig };
  postgresql: { pgpass: string; pg_hba: string[]; parameters?: Record<string, string> };
}

function readConfig({ home, diskMib, isFast }: PatroniOptions): PatroniConfig {
  const config = parse(readFileSync(join(shipped, "patroni.yml"), "utf8")) as PatroniConfig;
  const { dcs } = config.bootstrap;
  if (isFast) Object.assign(dcs, fastSettings);
  // A quarter of the disk each.
  const quarter = `${Math.floor(diskMib / 4)}MB`;
  Object.assign(dcs.postgresql.parameters, {
    shared_buffers: "256MB",
    max_wal_size: quarter,
    wal_keep_size: quarter,
  });
  config.postgresql.pgpass = join(home, "pgpass");
  config.postgresql.pg_hba = [
    "local all all peer",
    "host all all 198.18.0.0/15 trust",
    "host replication all 198.18.0.0/15 trust",
  ];
  return config;
}

interface Surroundings {
  home: string;
  configFile: string;
  programs: string;
  account: Account | undefined;
  network: MachineNetwork;
  etcd: EtcdProtocol | undefined;
}

/** A program that runs on the machine, under the account. */
function onMachine(
  { namespace }: Machine,
  account: Account | undefined,
  command: readonly string[],
): { program: string; args: string[] } {
  return {
    // Patroni considers a PostgreSQL that was killed as running until it is reaped, and the first process of a container may
    // do that after seconds.
    program: "tini",
    args: [
      "-s",
      "--",
      "nsenter",
      `--net=/run/netns/${namespace}`,
      "setpriv",
      // tini does not forward SIGKILL.
      "--pdeathsig=KILL",
      ...(account ? [`--reuid=${account.uid}`, `--regid=${account.gid}`, "--clear-groups"] : []),
      ...command,
    ],
  };
}

function makeNode(machine: Machine, surroundings: Surroundings): Node {
  const { home, configFile, programs, account, network } = surroundings;
  const { name, address } = machine;
  const folder = join(home, name);
  const data = join(folder, "data");
  const supervise = (
    program: string,
    args: string[],
    environment: Record<string, string>,
    onExit?: () => void,
  ): SupervisedProcess =>
    superviseProcess({
      name: `${program} ${name}`,
      ...onMachine(machine, account, [program, ...args]),
      environment: { HOME: folder, ...environment },
      logFile: join(home, `${name}-${program}.log`),
      folder: home,
      ...(onExit && { onExit }),
    });
  const agentEnvironment = {
    ...readEnvironment("node.env", machine, surroundings),
    PATRONI_POSTGRESQL_DATA_DIR: data,
    PATRONI_POSTGRESQL_BIN_DIR: programs,
    PATRONI_POSTGRESQL_PGPASS: join(folder, "pgpass"),
  };
  const nodeConfig = join(home, `${name}.yml`);
  const config = parse(readFileSync(configFile, "utf8")) as PatroniConfig;
  // Nodes on one machine cannot share a socket folder.
  config.postgresql.parameters = { unix_socket_directories: folder };
  writeFileSync(nodeConfig, JSON.stringify(config));
  const etcdEnvironment = {
    ...readEnvironment("etcd.env", machine, surroundings),
    ETCD_DATA_DIR: join(folder, "etcd"),
  };
  return {
    ...machine,
    folder,
    data,
    url: `postgres://postgres@${address}:5432/postgres`,
    apiUrl: `http://${address}:8008`,
    agent: supervise("patroni", [nodeConfig], agentEnvironment, () => {
      if (endsPostgres) network.signal(machine, "SIGKILL", "postgres");
    }),
    etcd: supervise("etcd", [], etcdEnvironment),
  };
}

/** The file of the first node, with the addresses and the name of this one. */
function readEnvironment(
  file: string,
  { name, address }: Machine,
  { network: { prefix }, etcd }: Surroundings,
): Record<string, string> {
  const lines = readFileSync(join(shipped, file), "utf8").matchAll(/^([A-Z0-9_]+)="?(.*?)"?$/gm);
  return Object.fromEntries(
    [...lines].map(([, key = "", value = ""]) => {
      const hostsKey = etcd && /^PATRONI_ETCD3?_HOSTS$/.test(key) ? hostsKeys[etcd] : key;
      if (value.includes(",")) return [hostsKey, value.replaceAll("10.0.0", prefix)];
      return [key, value.replaceAll("10.0.0.11", address).replaceAll("db1", name)];
    }),
  );
}

async function startAlone(node: Node, { home, account, programs }: Surroundings): Promise<() => Promise<void>> {
  const settings = [
    "synchronous_standby_names=",
    "primary_conninfo=",
    `listen_addresses=${node.address}`,
    `unix_socket_directories=${node.folder}`,
  ].flatMap((each) => ["-c", each]);
  const logFile = join(home, `${node.name}-alone.log`);
  const alone = superviseProcess({
    name: `${node.name} alone`,
    ...onMachine(node, account, [join(programs, "postgres"), "-D", node.data, ...settings]),
    logFile,
    folder: home,
  });
  alone.start();
  const started = until(
    `${node.name} accepts writes`,
    async () => {
      // A replica becomes writable only by a promotion.
      await connectTo(node, (client) => client.query("select pg_is_in_recovery() and pg_promote(false)")).catch(
        () => undefined,
      );
      return (await timelineOf(node)) > 0;
    },
    60_000,
  );
  await started.catch(async (error: unknown) => {
    await alone.stop("SIGKILL");
    throw new Error(`${String(error)} ${readFileSync(logFile, "utf8").slice(-500)}`, { cause: error });
  });
  return () => alone.stop("SIGQUIT");
}

/** 0 if the node is a replica or unavailable. */
async function timelineOf(node: Node): Promise<number> {
  const found = await connectTo(node, (client) => client.query<{ name: string }>(readTimeline)).catch(() => undefined);
  return Number.parseInt(found?.rows[0]?.name.slice(0, 8) ?? "0", 16);
}

const readTimeline = "select pg_walfile_name(pg_current_wal_lsn()) as name where not pg_is_in_recovery()";

async function connectTo<Result>(node: Node, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: node.url, connectionTimeoutMillis: 1_000, query_timeout: 1_000 });
  client.on("error", () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    client.end().catch(() => undefined);
  }
}

async function copyLostReplicas(nodes: readonly Node[], primary: Node | undefined): Promise<string[]> {
  if (!primary) return [];
  const streaming = (await connectTo(primary, readReplication)).map(({ name }) => name);
  const lost = nodes.filter((node) => node !== primary && !streaming.includes(node.name));
  for (const node of lost) await callAgent(node, "reinitialize", { force: true });
  return lost.map(({ name }) => name);
}

async function readReplication(client: pg.Client): Promise<{ name: string; state: string }[]> {
  // A base backup streams as well.
  const { rows } = await client.query<{ name: string; state: string }>(
    `select application_name as name, sync_state as state from pg_stat_replication
     where state = 'streaming' and application_name ~ '^db[123]$'`,
  );
  return rows;
}

/** Throws if PostgreSQL does not run. */
function killPostgres({ data }: Node): void {
  process.kill(Number(readFileSync(join(data, "postmaster.pid"), "utf8").split("\n", 1)[0]), "SIGKILL");
}

async function findReplacement(
  old: Node,
  nodes: readonly Node[],
  findPrimary: PatroniCluster["findPrimary"],
): Promise<Node | undefined> {
  const others = nodes.filter((node) => node !== old);
  let next: Node | undefined;
  await until(
    "another node is promoted, or none may be",
    async () => {
      const primary = await findPrimary();
      next = primary === old ? undefined : primary;
      return next !== undefined || !(await isElectionOpen(others));
    },
    90_000,
  );
  return next;
}
