import { choosePort } from "../../../src/dev/choose-port.ts";
import { until } from "../../support/assertions/until.ts";
import { replaceUrl } from "../../support/replace-constants.ts";
import { createTestDatabase, type TestDatabase } from "../../support/services/database.ts";
import { type MailServer, startMailServer } from "../../support/services/mail-server.ts";
import { type Monitoring, startMonitoring } from "../../support/services/monitoring.ts";
import { type NodeProcess, spawnNode } from "../../support/services/node-process.ts";
import { type OpenidProvider, startOpenidProvider } from "../../support/services/openid-provider.ts";
import { type PrivatePostgres, startPrivatePostgres } from "../../support/services/private-postgres.ts";
import { type PrivateRedis, startPrivateRedis } from "../../support/services/private-redis.ts";
import { createTestWallet, operators, type TestWallet, testEnvironment } from "../../support/services/server.ts";
import { type FixtureUpstream, startFixtureUpstream } from "../../support/upstreams/fixture-upstream.ts";

// A whole installation with the shipped rules, intervals and exporters, whose parts can be stopped one at a time.

/** A program that can be stopped and started on the same ports. */
export interface Restartable {
  process: () => NodeProcess;
  url: string;
  opsUrl: string;
  start(more?: Record<string, string>): Promise<void>;
  kill(): Promise<void>;
}

export interface Installation {
  postgres: PrivatePostgres;
  redis: PrivateRedis;
  db: TestDatabase;
  upstream: FixtureUpstream;
  mail: MailServer;
  oidc: OpenidProvider;
  server: Restartable;
  worker: Restartable;
  monitoring: Monitoring;
  wallet: TestWallet;
  close(): Promise<void>;
}

/** The upstream of the searches. */
export const upstreamName = "brave";

/** As deploy/pgbackrest/postgresql.conf has it, without a repository. Without archiving, ArchivingFails fires. */
const archiving = ["archive_mode=on", "archive_command=/bin/true", "archive_timeout=60"];

export function upstreamSettings({ url }: Pick<FixtureUpstream, "url">): Record<string, string> {
  return { ...replaceUrl(upstreamName, url), PENNYBLACK_BRAVE_KEY: "BSAone-key-of-brave-0001" };
}

export interface InstallationOptions {
  serverSettings?: () => Record<string, string>;
  maxConnections?: number;
}

export async function startInstallation({
  serverSettings = () => ({}),
  maxConnections = 200,
}: InstallationOptions = {}): Promise<Installation> {
  const postgres = await startPrivatePostgres({ settings: [`max_connections=${maxConnections}`, ...archiving] });
  const redis = await startPrivateRedis();
  const db = await createTestDatabase(postgres.superuserUrl);
  const upstream = await startFixtureUpstream(upstreamName, "ok");
  const mail = await startMailServer();
  const oidc = await startOpenidProvider("http://search.test");
  const shared = { ...testEnvironment(db), REDIS_URL: redis.url, PENNYBLACK_LOG_LEVEL: "warn" };
  const server = await createRestartable("main.ts", {
    ...shared,
    ...upstreamSettings(upstream),
    ...oidc.settings,
    HOST: "127.0.0.1",
    PENNYBLACK_OPERATOR_DATABASE_URL: db.operatorUrl,
    PENNYBLACK_OPERATORS: operators,
    ...serverSettings(),
  });
  const worker = await createRestartable("jobs/main.ts", {
    ...shared,
    PENNYBLACK_WORKER_DATABASE_URL: db.workerUrl,
    PENNYBLACK_SMTP_URL: mail.url,
    PENNYBLACK_MAIL_FROM: "pennyblack@example.com",
  });
  const hostOf = ({ opsUrl }: Restartable): string => new URL(opsUrl).host;
  // Before its targets, so that it sees their start.
  const monitoring = await startMonitoring({
    servers: [hostOf(server)],
    workers: [hostOf(worker)],
    databaseUrl: db.superuserUrl,
  });
  await Promise.all([server.start(), worker.start()]);
  return {
    postgres,
    redis,
    db,
    upstream,
    mail,
    oidc,
    server,
    worker,
    monitoring,
    wallet: await createTestWallet(db, "1000.00"),
    async close() {
      await monitoring.close();
      await Promise.all([server.kill(), worker.kill()]);
      await Promise.all([upstream.close(), mail.close(), oidc.close(), db.drop().catch(() => undefined)]);
      await redis.kill();
      await postgres.close();
    },
  };
}

async function createRestartable(script: string, environment: Record<string, string>): Promise<Restartable> {
  const [port, opsPort] = [await choosePort({ host: "127.0.0.1" }), await choosePort({ host: "127.0.0.1" })];
  const opsUrl = `http://127.0.0.1:${opsPort}`;
  let current: NodeProcess | undefined;
  const running = (): NodeProcess => {
    if (!current) throw new Error(`${script} has not been started`);
    return current;
  };
  return {
    process: running,
    url: `http://127.0.0.1:${port}`,
    opsUrl,
    async start(more = {}) {
      const ports = { PORT: String(port), PENNYBLACK_OPS_PORT: String(opsPort) };
      const own = spawnNode(script, { ...environment, ...ports, ...more });
      current = own;
      await until(
        `${script} is ready`,
        async () => {
          if (own.process.exitCode !== null) throw new Error(`${script} exited: ${own.output()}`);
          return (await fetch(`${opsUrl}/readyz`).catch(() => undefined))?.status === 200;
        },
        60_000,
      ).catch((error: unknown) => {
        throw new Error(`${String(error)} ${own.output()}`);
      });
    },
    async kill() {
      current?.process.kill("SIGKILL");
      await current?.ended;
    },
  };
}
