import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPool, type Pool } from "../../../src/db/pool.ts";
import { choosePort } from "../../../src/dev/choose-port.ts";
import { prepareDatabase } from "../../../src/dev/prepare-database.ts";
import { until } from "../../support/assertions/until.ts";
import { type FakeStripe, startFakeStripe } from "../../support/payments/fake-stripe.ts";
import { webhookSettings } from "../../support/payments/payment-fixture.ts";
import { testEnvironment } from "../../support/services/server.ts";
import { TcpProxy } from "../../support/services/tcp-proxy.ts";
import { type FixtureUpstream, startFixtureUpstream } from "../../support/upstreams/fixture-upstream.ts";
import { type HostileUpstream, startHostileUpstream } from "../../support/upstreams/hostile-upstream.ts";
import { fakedClock } from "../faked-clock.ts";
import { type DatabasePair, type Node, startDatabasePair } from "./database-pair.ts";
import { type SupervisedProcess, superviseProcess } from "./supervised-process.ts";

// A complete service whose components can all be faulted: three servers, a worker, a primary with a synchronous replica
// and the failover watcher, Redis, two upstreams, a payment processor.

export interface ChaosServer {
  index: number;
  url: string;
  opsUrl: string;
  process: SupervisedProcess;
  /** Connections to the database, one proxy for each host. */
  wires: { node: Node; wire: TcpProxy }[];
  /** A fault is being injected into it. */
  isBusy: boolean;
}

export interface ChaosCluster {
  folder: string;
  pair: DatabasePair;
  ownerUrl: string;
  owner: Pool;
  servers: readonly ChaosServer[];
  worker: SupervisedProcess;
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
  close(): Promise<void>;
}

export async function openChaosCluster({ diskMib }: { diskMib: number }): Promise<ChaosCluster> {
  const folder = mkdtempSync(join(tmpdir(), "pennyblack-chaos-"));
  chmodSync(folder, 0o755);
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
  const pair = await startDatabasePair(folder, diskMib);
  // In case the process exits without closing. Registered after the disks, which are unmounted first.
  process.once("exit", removeFolder);
  await prepareDatabase(`postgres://postgres@127.0.0.1:${pair.nodes[0].port}/pennyblack`);
  const [ownerUrl, superuserUrl] = ["pennyblack_owner", "postgres"].map((role) => pair.urlOf(role, "pennyblack"));
  if (!ownerUrl || !superuserUrl) throw new Error("a role has no URL");
  const watcher = superviseScript(folder, "failover", "failover/main.ts", {
    PENNYBLACK_ADMIN_DATABASE_URL: superuserUrl,
  });
  watcher.start();

  const dependencies = await startDependencies(folder);
  const setClock = prepareClock(folder);
  const servers = await Promise.all(
    [0, 1, 2].map((index) => makeServer({ index, folder, pair, dependencies, setClock })),
  );
  const worker = superviseScript(folder, "worker", "jobs/main.ts", {
    ...commonSettings(pair, dependencies),
    PENNYBLACK_WORKER_DATABASE_URL: pair.urlOf("pennyblack_worker", "pennyblack"),
    PENNYBLACK_OPS_PORT: String(await choosePort({ host: "127.0.0.1" })),
  });
  await pair.heal();
  for (const each of [worker, ...servers.map((server) => server.process)]) each.start();
  for (const server of servers) await until(`server ${server.index} is ready`, () => isReady(server));

  const owner = createPool({
    url: ownerUrl,
    name: "pennyblack chaos",
    connections: 4,
    statementTimeoutMs: 600_000,
    onIdleError: () => undefined,
  });
  return {
    folder,
    pair,
    ownerUrl,
    owner,
    servers,
    worker,
    ...dependencies,
    setClock,
    isReady,
    async findPrimaryUrl() {
      const primary = await pair.findPrimary();
      if (!primary) throw new Error("there is no primary");
      return primary.url.replace(/\/postgres$/, "/pennyblack");
    },
    async close() {
      await owner.end();
      const all = [...servers.map((server) => server.process), worker, watcher, dependencies.redis];
      await Promise.all(all.map((each) => each.stop("SIGKILL")));
      await Promise.all(servers.flatMap(({ wires }) => wires.map(({ wire }) => wire.close())));
      await dependencies.redisWire.close();
      await Promise.all(
        [dependencies.upstream, dependencies.otherUpstream, dependencies.stripe].map((each) => each.close()),
      );
      await pair.close();
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
type Dependencies = Pick<ChaosCluster, "redis" | "redisPort" | "redisWire" | "upstream" | "otherUpstream" | "stripe">;

async function startDependencies(folder: string): Promise<Dependencies> {
  const [upstream, otherUpstream, stripe] = await Promise.all([
    startHostileUpstream(),
    startFixtureUpstream("brave", "ok"),
    startFakeStripe(),
  ]);
  return { ...(await startRedis(folder)), upstream, otherUpstream, stripe };
}

function commonSettings(pair: DatabasePair, { stripe }: Dependencies): Record<string, string> {
  return {
    ...testEnvironment({
      ledgerUrl: "",
      tenantUrl: pair.urlOf("pennyblack_tenant", "pennyblack"),
      paymentsUrl: pair.urlOf("pennyblack_payments", "pennyblack"),
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

interface ServerOptions {
  index: number;
  folder: string;
  pair: DatabasePair;
  dependencies: Dependencies;
  setClock: ChaosCluster["setClock"];
}

async function makeServer({ index, folder, pair, dependencies, setClock }: ServerOptions): Promise<ChaosServer> {
  const [port, opsPort] = [await choosePort({ host: "127.0.0.1" }), await choosePort({ host: "127.0.0.1" })];
  const wires = pair.nodes.map((node) => ({ node, wire: new TcpProxy({ host: "127.0.0.1", port: node.port }) }));
  await Promise.all(wires.map(({ wire }) => wire.listen()));
  const hosts = wires.map(({ wire, node }) => new URL(wire.through(node.url)).host).join(",");
  const environment = {
    ...commonSettings(pair, dependencies),
    HOST: "127.0.0.1",
    PORT: String(port),
    PENNYBLACK_OPS_PORT: String(opsPort),
    DATABASE_URL: `postgres://pennyblack_ledger@${hosts}/pennyblack`,
    REDIS_URL: dependencies.redisWire.through(`redis://127.0.0.1:${dependencies.redisPort}`),
    PENNYBLACK_SERVERS: "3",
    PENNYBLACK_SEARXNG_URL: dependencies.upstream.url,
    PENNYBLACK_BRAVE_URL: dependencies.otherUpstream.url,
    PENNYBLACK_BRAVE_KEY: "key",
    PENNYBLACK_UPSTREAMS: "searxng,brave",
    PENNYBLACK_DRAIN_MS: "500",
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
