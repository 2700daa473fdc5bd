import { randomBytes } from "node:crypto";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { startOpenidProvider } from "../../support/services/openid-provider.ts";
import { startPrivateRedis } from "../../support/services/private-redis.ts";
import { createTestWallet, testEnvironment } from "../../support/services/server.ts";
import { startServerProcess } from "../../support/services/server-process.ts";
import { startFixtureUpstream } from "../../support/upstreams/fixture-upstream.ts";
import { fakedClock } from "../faked-clock.ts";
import { type Installation, upstreamName, upstreamSettings } from "./installation.ts";
import { search } from "./load.ts";

// Faults, each with the notification that must arrive and the step of its runbook that repairs it.

export interface PlantedFault {
  /** For the command line. */
  id: string;
  description: string;
  alert: string;
  /** The words of the runbook that the repair follows. */
  step: string;
  plant: (installation: Installation) => Promise<void>;
  repair: (installation: Installation) => Promise<void>;
  /** Settings of the server from the start. */
  serverSettings?: () => Record<string, string>;
  maxConnections?: number;
  /** It concerns no caller, so it is planted together with the others of this kind, to save time. */
  isInBackground?: boolean;
}

export const plantedFaults: readonly PlantedFault[] = [
  {
    id: "postgres",
    description: "PostgreSQL is stopped",
    alert: "DatabaseUnavailable",
    step: "PostgreSQL does not run: `systemctl restart postgresql`",
    plant: ({ postgres }) => postgres.stop(),
    repair: ({ postgres }) => postgres.restart(),
  },
  {
    id: "redis",
    description: "Redis is killed",
    alert: "RedisUnavailable",
    step: "Start Redis: `systemctl restart redis-server`",
    isInBackground: true,
    plant: ({ redis }) => redis.kill(),
    async repair(installation) {
      installation.redis = await startPrivateRedis(Number(new URL(installation.redis.url).port));
    },
  },
  {
    id: "quota",
    description: "The account with the only upstream has no credit left",
    alert: "UpstreamAccountEmpty",
    step: "Add credit or raise the limit at the provider",
    plant: async ({ upstream }) => upstream.serve(upstreamName, "empty-account"),
    repair: async ({ upstream }) => upstream.serve(upstreamName, "ok"),
  },
  {
    id: "slow-upstream",
    description: "The only upstream does not answer",
    alert: "EndToEndAvailability",
    step: "Otherwise configure a second provider and restart the servers",
    plant: async ({ upstream }) => upstream.stall(),
    async repair({ server }) {
      const second = await startFixtureUpstream("searxng", "ok");
      await server.kill();
      await server.start({ PENNYBLACK_SEARXNG_URL: second.url });
    },
  },
  {
    id: "worker",
    description: "The worker is killed",
    alert: "WorkerNotSeen",
    step: "Start the worker, `systemctl restart pennyblack-worker`",
    plant: ({ worker }) => worker.kill(),
    repair: ({ worker }) => worker.start(),
  },
  {
    id: "server",
    description: "The only server is killed",
    alert: "ServerNotSeen",
    step: "No server is running: start one, `systemctl restart pennyblack-server`",
    plant: ({ server }) => server.kill(),
    repair: ({ server }) => server.start(),
  },
  {
    id: "connections",
    description: "Another program holds connections until none is left",
    alert: "DatabaseConnectionsHigh",
    step: "Stop servers that should not run, and programs that are not ours",
    maxConnections: 80,
    plant: async ({ postgres }) => {
      for (;;) {
        const client = new pg.Client({ connectionString: postgres.superuserUrl });
        client.on("error", () => undefined);
        const isOpen = await client.connect().then(
          () => true,
          () => false,
        );
        if (!isOpen) return;
        intruders.push(client);
      }
    },
    repair: async () => {
      await Promise.all(intruders.splice(0).map((client) => client.end()));
    },
  },
  {
    id: "clock",
    description: "The clock of the only server jumps ahead by 90 seconds",
    alert: "ClockOffset",
    step: "Synchronize the clock with NTP",
    serverSettings() {
      clockFile = join(mkdtempSync(join(tmpdir(), "pennyblack-clock-")), "offset");
      writeFileSync(clockFile, "+0s\n");
      // Without FAKETIME, the library reads the file, and again every second.
      const { FAKETIME: _offset, ...library } = fakedClock("+0s") ?? {};
      return { ...library, FAKETIME_TIMESTAMP_FILE: clockFile, FAKETIME_CACHE_DURATION: "1" };
    },
    plant: async () => writeFileSync(clockFile, "+90s\n"),
    repair: async () => writeFileSync(clockFile, "+0s\n"),
  },
  {
    id: "smtp",
    description: "The mail server no longer accepts the password",
    alert: "EmailUnavailable",
    step: "The password was changed: set `PENNYBLACK_SMTP_URL` for workers and servers, and restart them",
    isInBackground: true,
    async plant({ worker, mail }) {
      const url = new URL(mail.url);
      url.password = "the-old-password";
      await worker.kill();
      await worker.start({ PENNYBLACK_SMTP_URL: url.href });
    },
    async repair({ worker }) {
      await worker.kill();
      await worker.start();
    },
  },
  {
    id: "oidc",
    description: "The OpenID Connect provider does not respond",
    alert: "SignInUnavailable",
    step: "The issuer has changed: set `PENNYBLACK_OIDC_ISSUER` and restart the servers",
    isInBackground: true,
    plant: ({ oidc }) => oidc.close(),
    async repair(installation) {
      installation.oidc = await startOpenidProvider("http://search.test");
      await installation.server.kill();
      await installation.server.start(installation.oidc.settings);
    },
  },
  {
    id: "transaction",
    description: "A session leaves a transaction open",
    alert: "LongTransaction",
    step: "End the session, as a superuser, with `select pg_terminate_backend(pid)`",
    isInBackground: true,
    async plant({ db }) {
      const client = new pg.Client({ connectionString: db.superuserUrl });
      client.on("error", () => undefined);
      await client.connect();
      await client.query("begin");
      await client.query("select count(*) from pb.wallets");
    },
    async repair({ db }) {
      const client = new pg.Client({ connectionString: db.superuserUrl });
      await client.connect();
      await client.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where state = 'idle in transaction' and now() - xact_start > interval '1 minute'",
      );
      await client.end();
    },
  },
  {
    id: "secret",
    description: "A second server with a new first secret encrypts the data key of a wallet",
    alert: "DataKeysNotOpened",
    step: "Add the missing secret to `PENNYBLACK_SECRET` of the affected servers and restart them",
    async plant(installation) {
      const { db, upstream } = installation;
      const other = await startServerProcess(db, {
        ...upstreamSettings(upstream),
        PENNYBLACK_SECRET: bothSecrets(db),
      });
      const wallet = await createTestWallet(db, "1000.00");
      const headers = { "idempotency-key": "the first of this wallet" };
      const { status } = await search({ server: other, wallet }, { timeoutMs: 60_000, headers });
      if (status !== "200") throw new Error(`the server with the new secret answered ${status}`);
      other.process.kill("SIGKILL");
      installation.wallet = wallet;
    },
    async repair({ db, server, worker }) {
      await Promise.all([server.kill(), worker.kill()]);
      const settings = { PENNYBLACK_SECRET: bothSecrets(db) };
      await Promise.all([server.start(settings), worker.start(settings)]);
    },
  },
];

const intruders: pg.Client[] = [];
let clockFile = "";

const newSecret = randomBytes(32).toString("base64");
const bothSecrets = (db: Installation["db"]): string => `${newSecret},${testEnvironment(db)["PENNYBLACK_SECRET"]}`;
