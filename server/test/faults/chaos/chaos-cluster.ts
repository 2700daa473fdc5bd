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
import { fakedClock } from "../crashes/faked-clock.ts";
import { type DatabasePair, type Node, startDatabasePair } from "./database-pair.ts";
import { type SupervisedProcess, superviseProcess } from "./supervised-process.ts";

// Everything that a service has, each part where it can be hurt: three servers, a worker, a primary with a synchronous
// replica and whoever promotes it, Redis, two upstreams, a payment processor.

export interface ChaosServer {
  index: number;
  url: string;
  opsUrl: string;
  process: SupervisedProcess;
  /** To the database, one for each host. */
  wires: { node: Node; wire: TcpProxy }[];
  /** Someone is doing something to it that takes a while. */
  isBusy: boolean;
}

export interface ChaosCluster {
  folder: string;
  pair: DatabasePair;
  owner: Pool;
  servers: readonly ChaosServer[];
  worker: SupervisedProcess;
  redis: SupervisedProcess;
  redisPort: number;
  redisWire: TcpProxy;
  upstream: HostileUpstream;
  otherUpstream: FixtureUpstream;
  stripe: FakeStripe;
  /** Sets the calendar of the last server; undefined where this machine cannot fake one. */
  setClock: ((offset: string) => void) | undefined;
  isReady(server: ChaosServer): Promise<boolean>;
  close(): Promise<void>;
}

export async function openChaosCluster({ diskMib }: { diskMib: number }): Promise<ChaosCluster> {
  const folder = mkdtempSync(join(tmpdir(), "pennyblack-chaos-"));
  chmodSync(folder, 0o755);
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
  const pair = await startDatabasePair(folder, diskMib);
  // The last resort, should we end without closing; behind the disks in it, which must be gone by then.
  process.once("exit", removeFolder);
  await prepareDatabase(`postgres://postgres@127.0.0.1:${pair.nodes[0].port}/pennyblack`);
  const [ownerUrl, superuserUrl] = ["pennyblack_owner", "postgres"].map((role) => pair.urlOf(role, "pennyblack"));
  if (!ownerUrl || !superuserUrl) throw new Error("each role has an address");
  const watcher = keepScript(folder, "failover", "failover/main.ts", { PENNYBLACK_ADMIN_DATABASE_URL: superuserUrl });
  watcher.want();

  const outside = await startOutside(folder);
  const setClock = prepareClock(folder);
  const servers = await Promise.all([0, 1, 2].map((index) => makeServer({ index, folder, pair, outside, setClock })));
  const worker = keepScript(folder, "worker", "jobs/main.ts", {
    ...commonSettings(pair, outside),
    PENNYBLACK_DIRECT_DATABASE_URL: ownerUrl,
    PENNYBLACK_OPS_PORT: String(await choosePort({ host: "127.0.0.1" })),
  });
  await pair.heal();
  for (const each of [worker, ...servers.map((server) => server.process)]) each.want();
  for (const server of servers) await until(`server ${server.index} is ready`, () => isReady(server), 60_000);

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
    owner,
    servers,
    worker,
    ...outside,
    setClock,
    isReady,
    async close() {
      await owner.end();
      const all = [...servers.map((server) => server.process), worker, watcher, outside.redis];
      await Promise.all(all.map((each) => each.retire("SIGKILL")));
      await Promise.all(servers.flatMap(({ wires }) => wires.map(({ wire }) => wire.close())));
      await outside.redisWire.close();
      await Promise.all([outside.upstream, outside.otherUpstream, outside.stripe].map((each) => each.close()));
      await pair.close();
      removeFolder();
      process.removeListener("exit", removeFolder);
    },
  };
}

function keepScript(
  folder: string,
  name: string,
  path: string,
  environment: Record<string, string>,
): SupervisedProcess {
  const args = [new URL(`../../../src/${path}`, import.meta.url).pathname];
  const logFile = join(folder, `${name}.log`);
  // They are started hundreds of times, and half of a start is compiling the same files again.
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

/** What a service talks to beside its database. */
type Outside = Pick<ChaosCluster, "redis" | "redisPort" | "redisWire" | "upstream" | "otherUpstream" | "stripe">;

async function startOutside(folder: string): Promise<Outside> {
  const [upstream, otherUpstream, stripe] = await Promise.all([
    startHostileUpstream(),
    startFixtureUpstream("brave", "ok"),
    startFakeStripe(),
  ]);
  return { ...(await startRedis(folder)), upstream, otherUpstream, stripe };
}

function commonSettings(pair: DatabasePair, { stripe }: Outside): Record<string, string> {
  return {
    ...testEnvironment({ ledgerUrl: "", tenantUrl: pair.urlOf("pennyblack_tenant", "pennyblack") }),
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
  redis.want();
  const redisWire = new TcpProxy({ host: "127.0.0.1", port: redisPort });
  await redisWire.listen();
  return { redis, redisPort, redisWire };
}

interface ServerOptions {
  index: number;
  folder: string;
  pair: DatabasePair;
  outside: Outside;
  setClock: ChaosCluster["setClock"];
}

async function makeServer({ index, folder, pair, outside, setClock }: ServerOptions): Promise<ChaosServer> {
  const [port, opsPort] = [await choosePort({ host: "127.0.0.1" }), await choosePort({ host: "127.0.0.1" })];
  const wires = pair.nodes.map((node) => ({ node, wire: new TcpProxy({ host: "127.0.0.1", port: node.port }) }));
  await Promise.all(wires.map(({ wire }) => wire.listen()));
  const hosts = wires.map(({ wire, node }) => new URL(wire.through(node.url)).host).join(",");
  const environment = {
    ...commonSettings(pair, outside),
    HOST: "127.0.0.1",
    PORT: String(port),
    PENNYBLACK_OPS_PORT: String(opsPort),
    DATABASE_URL: `postgres://pennyblack_ledger@${hosts}/pennyblack`,
    REDIS_URL: outside.redisWire.through(`redis://127.0.0.1:${outside.redisPort}`),
    PENNYBLACK_SERVERS: "3",
    PENNYBLACK_SEARXNG_URL: outside.upstream.url,
    PENNYBLACK_BRAVE_URL: outside.otherUpstream.url,
    PENNYBLACK_BRAVE_KEY: "key",
    PENNYBLACK_UPSTREAMS: "searxng,brave",
    PENNYBLACK_DRAIN_MS: "500",
    // The last one has a calendar that can be set while it runs.
    ...(index === 2 && setClock ? clockSettings(folder) : {}),
  };
  return {
    index,
    url: `http://127.0.0.1:${port}`,
    opsUrl: `http://127.0.0.1:${opsPort}`,
    process: keepScript(folder, `server${index}`, "main.ts", environment),
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

/** The library's offset comes from a file that it reads anew every second. */
function clockSettings(folder: string): Record<string, string> {
  const { FAKETIME: _fixed, ...clock } = fakedClock("+0") ?? {};
  return { ...clock, FAKETIME_TIMESTAMP_FILE: join(folder, "clock"), FAKETIME_CACHE_DURATION: "1" };
}
