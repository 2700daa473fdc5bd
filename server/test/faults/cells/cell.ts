import { randomBytes } from "node:crypto";
import { join } from "node:path";
import pg from "pg";
import { nameCell } from "../../../src/cells/name-cell.ts";
import { migrate } from "../../../src/db/migrate.ts";
import { createPool, type Pool } from "../../../src/db/pool.ts";
import { createRoles, grantDatabase, withRole } from "../../../src/db/roles.ts";
import { choosePort } from "../../../src/dev/choose-port.ts";
import { until } from "../../support/assertions/until.ts";
import { testAct } from "../../support/data/test-act.ts";
import { webhookSettings } from "../../support/payments/payment-fixture.ts";
import { replaceConstants } from "../../support/replace-constants.ts";
import { type PrivatePostgres, startPrivatePostgres } from "../../support/services/private-postgres.ts";
import { operators, testEnvironment } from "../../support/services/server.ts";
import { type SupervisedProcess, superviseProcess } from "../chaos/supervised-process.ts";

// One cell: its own PostgreSQL, Redis, server and worker, each a separate process.

export interface CellServer {
  process: SupervisedProcess;
  url: string;
  opsUrl: string;
}

export interface Cell {
  name: string;
  postgres: PrivatePostgres;
  ownerUrl: string;
  owner: Pool;
  redis: SupervisedProcess;
  server: CellServer;
  worker: SupervisedProcess;
  /** The address at which the edge looks for the server. */
  address: string;
  opsPort: number;
  /** For `npm run admin`. */
  adminSettings: Record<string, string>;
  /** Starts everything that is stopped, and waits until the server is ready. */
  start(): Promise<void>;
  /** Kills the server, the worker, Redis and PostgreSQL. */
  kill(): Promise<void>;
  close(): Promise<void>;
}

export interface CellOptions {
  name: string;
  /** For logs. */
  folder: string;
  upstreamUrl: string;
  stripeUrl: string;
  port: number;
}

const databaseName = "pennyblack";
const databaseSettings = ["shared_buffers=32MB", "max_wal_size=256MB"];

export async function openCell(options: CellOptions): Promise<Cell> {
  const { name } = options;
  const postgres = await startPrivatePostgres({ settings: databaseSettings });
  const databaseUrl = postgres.superuserUrl.replace(/\/postgres$/, `/${databaseName}`);
  const ownerUrl = withRole(databaseUrl, "owner");
  await prepareDatabase(postgres.superuserUrl, ownerUrl);
  const owner = createPool({
    url: ownerUrl,
    name: "pennyblack cells",
    connections: 4,
    statementTimeoutMs: 120_000,
    onIdleError: () => undefined,
  });
  await nameCell(owner, name, testAct);
  const processes = await createProcesses(options, databaseUrl);
  const { redis } = processes;
  const cell: Cell = {
    name,
    postgres,
    ownerUrl,
    owner,
    ...processes,
    async start() {
      await postgres.restart();
      for (const each of [redis, cell.server.process, cell.worker]) each.start();
      await until(`cell ${name} is ready`, () => isReady(cell.server), 60_000);
    },
    async kill() {
      await Promise.all([cell.server.process, cell.worker, redis].map((each) => each.stop("SIGKILL")));
      await postgres.killPostmaster();
    },
    async close() {
      await Promise.all([cell.server.process, cell.worker, redis].map((each) => each.stop("SIGKILL")));
      await owner.end();
      await postgres.close();
    },
  };
  return cell;
}

type Processes = Pick<Cell, "redis" | "address" | "opsPort" | "adminSettings" | "server" | "worker">;

async function createProcesses(options: CellOptions, databaseUrl: string): Promise<Processes> {
  const { name, folder, port } = options;
  const [redisPort, opsPort, workerOpsPort] = await choosePorts();
  const redis = superviseProcess({
    name: `redis of ${name}`,
    program: "redis-server",
    args: ["--port", String(redisPort), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder],
    logFile: join(folder, `${name}-redis.log`),
    folder,
  });
  const superviseScript = (script: string, environment: Record<string, string>): SupervisedProcess =>
    superviseProcess({
      name: `${script} of ${name}`,
      program: process.execPath,
      args: [join(import.meta.dirname, "../../../src", script)],
      environment: { NODE_COMPILE_CACHE: join(folder, "compiled"), ...environment },
      logFile: join(folder, `${name}-${script.replace("/", "-")}.log`),
      folder,
    });
  const common = cellSettings(options, databaseUrl);
  return {
    redis,
    opsPort,
    address: `127.0.0.1:${port}`,
    adminSettings: { ...common, PENNYBLACK_DIRECT_DATABASE_URL: withRole(databaseUrl, "owner") },
    server: {
      url: `http://127.0.0.1:${port}`,
      opsUrl: `http://127.0.0.1:${opsPort}`,
      process: superviseScript("main.ts", {
        ...common,
        HOST: "127.0.0.1",
        PORT: String(port),
        PENNYBLACK_OPS_HOST: "127.0.0.1",
        PENNYBLACK_OPS_PORT: String(opsPort),
        REDIS_URL: `redis://127.0.0.1:${redisPort}`,
      }),
    },
    worker: superviseScript("jobs/main.ts", {
      ...common,
      PENNYBLACK_WORKER_DATABASE_URL: withRole(databaseUrl, "worker"),
      PENNYBLACK_OPS_PORT: String(workerOpsPort),
    }),
  };
}

async function choosePorts(): Promise<[number, number, number]> {
  const choose = (): Promise<number> => choosePort({ host: "127.0.0.1" });
  return [await choose(), await choose(), await choose()];
}

async function prepareDatabase(superuserUrl: string, ownerUrl: string): Promise<void> {
  const superuser = new pg.Client({ connectionString: superuserUrl });
  await superuser.connect();
  await createRoles(superuser, {});
  await superuser.query(`create database ${databaseName} owner pennyblack_owner`);
  await grantDatabase(superuser, databaseName);
  await superuser.end();
  await migrate(ownerUrl, () => undefined);
}

/** All cells use one payment account. Each signs with its own key. */
function cellSettings(options: CellOptions, databaseUrl: string): Record<string, string> {
  const { name, upstreamUrl, stripeUrl } = options;
  return {
    ...testEnvironment({
      ledgerUrl: withRole(databaseUrl, "ledger"),
      tenantUrl: withRole(databaseUrl, "tenant"),
      paymentsUrl: withRole(databaseUrl, "payments"),
    }),
    ...webhookSettings(stripeUrl),
    PENNYBLACK_CELL: name,
    PENNYBLACK_SIGNING_KEYS: randomBytes(32).toString("base64"),
    PENNYBLACK_PUBLIC_URL: `http://${hostOf(name)}`,
    PENNYBLACK_OPERATOR_DATABASE_URL: withRole(databaseUrl, "operator"),
    PENNYBLACK_OPERATORS: operators,
    PENNYBLACK_SEARXNG_URL: upstreamUrl,
    PENNYBLACK_TRUSTED_PROXIES: "127.0.0.1",
    PENNYBLACK_LOG_LEVEL: "warn",
    // HAProxy needs up to two seconds to notice that a server is draining.
    ...replaceConstants({ drainMs: 3_000 }),
  };
}

export function hostOf(cell: string): string {
  return `${cell}.example.com`;
}

export async function isReady({ opsUrl }: CellServer): Promise<boolean> {
  const reply = await fetch(`${opsUrl}/readyz`, { signal: AbortSignal.timeout(1_000) }).catch(() => undefined);
  return reply?.status === 200;
}
