import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createPool, type Pool } from "../../../src/db/pool.ts";
import { choosePort } from "../../../src/dev/choose-port.ts";
import { prepareDatabase } from "../../../src/dev/prepare-database.ts";
import { until } from "../../support/assertions/until.ts";
import type { EtcdProtocol } from "../../support/patroni/control-etcd.ts";
import { type Node, type PatroniCluster, startPatroniCluster } from "../../support/patroni/patroni-cluster.ts";
import { leftoverPrefix, removeLeftovers } from "../../support/patroni/remove-leftovers.ts";
import { type FakeStripe, startFakeStripe } from "../../support/payments/fake-stripe.ts";
import { webhookSettings } from "../../support/payments/payment-fixture.ts";
import { replaceConstants, replaceUrl } from "../../support/replace-constants.ts";
import { testEnvironment } from "../../support/services/server.ts";
import { TcpProxy } from "../../support/services/tcp-proxy.ts";
import { type FixtureUpstream, startFixtureUpstream } from "../../support/upstreams/fixture-upstream.ts";
import { type HostileUpstream, startHostileUpstream } from "../../support/upstreams/hostile-upstream.ts";
import { fakedClock } from "../faked-clock.ts";
import { type SupervisedProcess, superviseProcess } from "./supervised-process.ts";

// A complete service whose components can all be faulted: three servers, a worker, three database nodes with Patroni and
// etcd, HAProxy, Redis, two upstreams, a payment processor.

export interface ChaosServer {
  index: number;
  url: string;
  opsUrl: string;
  process: SupervisedProcess;
  /** Connections to the database: one proxy for each node, or one to HAProxy. */
  wires: { node: Node | undefined; wire: TcpProxy }[];
  /** A fault is being injected into it. */
  isBusy: boolean;
}

export interface ChaosCluster {
  folder: string;
  database: PatroniCluster;
  ownerUrl: string;
  owner: Pool;
  servers: readonly ChaosServer[];
  worker: SupervisedProcess;
  readWorkerMetrics(): Promise<string>;
  /** The settings that servers and worker have in common. */
  settings: Record<string, string>;
  /** Leads to the primary; the second server uses it. */
  haproxy: SupervisedProcess;
  haproxyPort: number;
  redis: SupervisedProcess;
  redisPort: number;
  redisWire: TcpProxy;
  upstream: HostileUpstream;
  otherUpstream: FixtureUpstream;
  stripe: FakeStripe;
  /** Sets the clock of the last server; undefined if libfaketime is not available. */
  setClock: ((offset: string) => void) | undefined;
  isReady(server: ChaosServer): Promise<boolean>;
  /** The database on the current primary, as superuser. Throws if there is no primary. */
  findPrimaryUrl(): Promise<string>;
  /** Stops the servers and the worker. */
  stopServers(): Promise<void>;
  close(): Promise<void>;
}

export interface ChaosClusterOptions {
  diskMib: number;
  /** Of Patroni; see deploy/patroni/patroni.yml. */
  isFast: boolean;
  etcd: EtcdProtocol | undefined;
  recoveryMs: number;
}

export async function openChaosCluster(options: ChaosClusterOptions): Promise<ChaosCluster> {
  removeLeftovers("chaos");
  const folder = mkdtempSync(leftoverPrefix("chaos"));
  chmodSync(folder, 0o755);
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
  const database = await startPatroniCluster({ home: folder, ...options });
  // In case the process exits without closing. Registered after the disks, which are unmounted first.
  process.once("exit", removeFolder);
  const primary = await database.findPrimary();
  await prepareDatabase(primary?.url.replace(/\/postgres$/, "/pennyblack") ?? "");
  const ownerUrl = database.urlOf("pennyblack_owner", "pennyblack");

  const dependencies = await startDependencies(folder, database);
  const setClock = prepareClock(folder);
  const servers = await Promise.all(
    [0, 1, 2].map((index) => makeServer({ index, folder, database, dependencies, setClock })),
  );
  const workerPort = String(await choosePort({ host: "127.0.0.1" }));
  const settings = commonSettings(database, dependencies);
  const worker = superviseScript(folder, "worker", "jobs/main.ts", {
    ...settings,
    PENNYBLACK_WORKER_DATABASE_URL: database.urlOf("pennyblack_worker", "pennyblack"),
    PENNYBLACK_OPS_PORT: workerPort,
  });
  for (const each of [worker, ...servers.map((server) => server.process)]) each.start();
  for (const server of servers) await until(`server ${server.index} is ready`, () => isReady(server), 60_000);

  const owner = createPool({
    url: ownerUrl,
    name: "pennyblack chaos",
    connections: 4,
    statementTimeoutMs: 600_000,
    onIdleError: () => undefined,
  });
  const { haproxy, redis, redisWire, upstream, otherUpstream, stripe } = dependencies;
  async function stopServers(): Promise<void> {
    const all = [...servers.map((server) => server.process), worker];
    await Promise.all(all.map((each) => each.stop("SIGKILL")));
  }
  return {
    folder,
    database,
    ownerUrl,
    owner,
    servers,
    worker,
    readWorkerMetrics: async () => (await fetch(`http://127.0.0.1:${workerPort}/metrics`)).text(),
    settings,
    ...dependencies,
    setClock,
    isReady,
    async findPrimaryUrl() {
      const primary = await database.findPrimary();
      if (!primary) throw new Error("there is no primary");
      return primary.url.replace(/\/postgres$/, "/pennyblack");
    },
    stopServers,
    async close() {
      await owner.end();
      await stopServers();
      await Promise.all([haproxy, redis].map((each) => each.stop("SIGKILL")));
      await Promise.all(servers.flatMap(({ wires }) => wires.map(({ wire }) => wire.close())));
      await redisWire.close();
      await Promise.all([upstream, otherUpstream, stripe].map((each) => each.close()));
      await database.close();
      removeFolder();
      process.removeListener("exit", removeFolder);
    },
  };
}

function superviseScript(
  folder: string,
  name: string,
  path: string,
  environment: Record<string, string>,
): SupervisedProcess {
  const args = [new URL(`../../../src/${path}`, import.meta.url).pathname];
  const logFile = join(folder, `${name}.log`);
  // Scripts start hundreds of times, and compiling takes half of each start.
  const compiled = { NODE_COMPILE_CACHE: join(folder, "compiled") };
  return superviseProcess({
    name,
    program: process.execPath,
    args,
    environment: { ...compiled, ...environment },
    logFile,
    folder,
  });
}

/** The services that servers use besides the database. */
type Dependencies = Pick<
  ChaosCluster,
  "haproxy" | "haproxyPort" | "redis" | "redisPort" | "redisWire" | "upstream" | "otherUpstream" | "stripe"
>;

async function startDependencies(folder: string, database: PatroniCluster): Promise<Dependencies> {
  const [upstream, otherUpstream, stripe] = await Promise.all([
    startHostileUpstream(),
    startFixtureUpstream("brave", "ok"),
    startFakeStripe(),
  ]);
  return { ...(await startRedis(folder)), ...(await startHaproxy(folder, database)), upstream, otherUpstream, stripe };
}

function commonSettings(database: PatroniCluster, { stripe }: Dependencies): Record<string, string> {
  return {
    ...testEnvironment({
      ledgerUrl: "",
      tenantUrl: database.urlOf("pennyblack_tenant", "pennyblack"),
      paymentsUrl: database.urlOf("pennyblack_payments", "pennyblack"),
    }),
    ...webhookSettings(stripe.url),
    PENNYBLACK_LOG_LEVEL: "warn",
  };
}

async function startRedis(
  folder: string,
): Promise<{ redis: SupervisedProcess; redisPort: number; redisWire: TcpProxy }> {
  const redisPort = await choosePort({ host: "127.0.0.1" });
  const redis = superviseProcess({
    name: "redis",
    program: "redis-server",
    args: ["--port", String(redisPort), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder],
    logFile: join(folder, "redis.log"),
    folder,
  });
  redis.start();
  const redisWire = new TcpProxy({ host: "127.0.0.1", port: redisPort });
  await redisWire.listen();
  return { redis, redisPort, redisWire };
}

/** deploy/patroni/haproxy.cfg with the addresses of these nodes. */
async function startHaproxy(
  folder: string,
  { network }: PatroniCluster,
): Promise<{ haproxy: SupervisedProcess; haproxyPort: number }> {
  const haproxyPort = await choosePort({ host: "127.0.0.1" });
  const file = join(folder, "haproxy.cfg");
  const shipped = new URL("../../../../deploy/patroni/haproxy.cfg", import.meta.url);
  const text = readFileSync(shipped, "utf8").replaceAll("10.0.0", network.prefix);
  writeFileSync(file, text.replace("bind :5000", `bind 127.0.0.1:${haproxyPort}`));
  const haproxy = superviseProcess({
    name: "haproxy",
    program: "haproxy",
    args: ["-f", file],
    environment: { PATH: `${process.env["PATH"]}:/usr/sbin` },
    logFile: join(folder, "haproxy.log"),
    folder,
  });
  haproxy.start();
  return { haproxy, haproxyPort };
}

interface ServerOptions {
  index: number;
  folder: string;
  database: PatroniCluster;
  dependencies: Dependencies;
  setClock: ChaosCluster["setClock"];
}

async function makeServer({ index, folder, database, dependencies, setClock }: ServerOptions): Promise<ChaosServer> {
  const [port, opsPort] = [await choosePort({ host: "127.0.0.1" }), await choosePort({ host: "127.0.0.1" })];
  const wires =
    index === 1
      ? [{ node: undefined, wire: new TcpProxy({ host: "127.0.0.1", port: dependencies.haproxyPort }) }]
      : database.nodes.map((node) => ({ node, wire: new TcpProxy({ host: node.address, port: 5432 }) }));
  await Promise.all(wires.map(({ wire }) => wire.listen()));
  const hosts = wires.map(({ wire }) => new URL(wire.through("postgres://host")).host).join(",");
  const environment = {
    ...commonSettings(database, dependencies),
    HOST: "127.0.0.1",
    PORT: String(port),
    PENNYBLACK_OPS_PORT: String(opsPort),
    DATABASE_URL: `postgres://pennyblack_ledger@${hosts}/pennyblack`,
    REDIS_URL: dependencies.redisWire.through(`redis://127.0.0.1:${dependencies.redisPort}`),
    PENNYBLACK_SERVERS: "3",
    PENNYBLACK_SEARXNG_URL: dependencies.upstream.url,
    ...replaceUrl("brave", dependencies.otherUpstream.url),
    PENNYBLACK_BRAVE_KEY: "key",
    PENNYBLACK_UPSTREAMS: "searxng,brave",
    ...replaceConstants({ drainMs: 500 }),
    // The clock of the last server can be changed while it runs.
    ...(index === 2 && setClock ? clockSettings(folder) : {}),
  };
  return {
    index,
    url: `http://127.0.0.1:${port}`,
    opsUrl: `http://127.0.0.1:${opsPort}`,
    process: superviseScript(folder, `server${index}`, "main.ts", environment),
    wires,
    isBusy: false,
  };
}

async function isReady({ opsUrl }: ChaosServer): Promise<boolean> {
  const reply = await fetch(`${opsUrl}/readyz`, { signal: AbortSignal.timeout(1_000) }).catch(() => undefined);
  return reply?.status === 200;
}

function prepareClock(folder: string): ChaosCluster["setClock"] {
  if (!fakedClock("+0")) return undefined;
  const setClock = (offset: string): void => writeFileSync(join(folder, "clock"), `${offset}\n`);
  setClock("+0");
  return setClock;
}

/** libfaketime reads the offset from a file every second. */
function clockSettings(folder: string): Record<string, string> {
  const { FAKETIME: _fixed, ...clock } = fakedClock("+0") ?? {};
  return { ...clock, FAKETIME_TIMESTAMP_FILE: join(folder, "clock"), FAKETIME_CACHE_DURATION: "1" };
}
