import assert from "node:assert/strict";
import { createPool, type Pool } from "../../../src/db/pool.ts";
import { formatReport, reconcile } from "../../../src/wallet/upkeep/reconcile.ts";
import { until } from "../../support/assertions/until.ts";
import { createTestDatabase, type TestDatabase } from "../../support/services/database.ts";
import { type PrivatePostgres, startPrivatePostgres } from "../../support/services/private-postgres.ts";
import { createTestWallet, type TestWallet } from "../../support/services/server.ts";
import { type ServerProcess, startServerProcess } from "../../support/services/server-process.ts";
import { TcpProxy } from "../../support/services/tcp-proxy.ts";
import { startWorkerProcess, type WorkerProcess } from "../../support/services/worker-process.ts";
import { type AuditReport, audit } from "../audit.ts";
import { Journal, type Question } from "../journal.ts";
import { type DelayedUpstream, startDelayedUpstream } from "./delayed-upstream.ts";
import { createOwnerActions, type OwnerActions } from "./owner-actions.ts";

/** A PostgreSQL, an upstream and servers that may all die, and the journal of those who used them. */
export interface CrashFixture extends OwnerActions {
  postgres: PrivatePostgres;
  db: TestDatabase;
  upstream: DelayedUpstream;
  journal: Journal;
  startServer(settings?: Record<string, string>): Promise<CrashServer>;
  startWorker(settings?: Record<string, string>): Promise<WorkerProcess>;
  createWallet(balance?: string): Promise<TestWallet>;
  /** A statement outlives the server that sent it: until the database has finished what the dead had asked for. */
  untilQuiet(): Promise<void>;
  /** Tries again what has no answer yet, when its time has come, on a server that lives: each gets one. */
  finish(serverUrl: string, questions: readonly Question[]): Promise<void>;
  /** The journal against the ledger, and the ledger against itself. */
  assertBooksBalance(): Promise<AuditReport["counts"]>;
  close(): Promise<void>;
}

export interface CrashServer extends ServerProcess {
  /** Between the server and the database. */
  wire: TcpProxy;
  /** kill -9, by its own process id. */
  kill: () => Promise<void>;
}

export async function openCrashFixture(): Promise<CrashFixture> {
  const postgres = await startPrivatePostgres();
  const db = await createTestDatabase(postgres.superuserUrl);
  const upstream = await startDelayedUpstream();
  const journal = new Journal();
  const hand = createOwnerActions(db);
  const servers: CrashServer[] = [];
  const workers: WorkerProcess[] = [];
  // The owner cannot see what the other roles' connections do.
  const superuser = createPool({ url: db.superuserUrl, name: "watcher", connections: 1, onIdleError: () => {} });

  async function finish(serverUrl: string, questions: readonly Question[]): Promise<void> {
    await untilQuiet(superuser);
    for (const wallet of new Set(questions.map((question) => question.wallet))) await hand.ageClaims(wallet);
    for (const question of questions) {
      const seen = await journal.search(serverUrl, question);
      assert.ok(seen.kind === "answered" && seen.status === 200, JSON.stringify(seen));
    }
  }

  const killAll = (): void => {
    for (const { process: child } of [...servers, ...workers]) child.kill("SIGKILL");
  };
  // The last resort: a test file that hangs is ended by its runner, and must not leave anyone behind.
  process.once("exit", killAll);
  process.once("SIGTERM", () => process.exit(1));

  return {
    ...hand,
    postgres,
    db,
    upstream,
    journal,
    async startServer(settings = {}) {
      const server = await startThroughWire(db, { PENNYBLACK_SEARXNG_URL: upstream.url, ...settings });
      servers.push(server);
      return server;
    },
    async startWorker(settings = {}) {
      const worker = await startWorkerProcess(db, settings);
      workers.push(worker);
      return worker;
    },
    createWallet: (balance = "0.05") => createTestWallet(db, balance),
    finish,
    untilQuiet: () => untilQuiet(superuser),
    async assertBooksBalance() {
      await untilQuiet(superuser);
      await hand.sweep();
      const { faults, counts } = await audit(db.ownerUrl, journal.entries);
      assert.deepEqual(faults, []);
      const report = await reconcile(db.owner);
      assert.ok(report.isClean, formatReport(report));
      return counts;
    },
    async close() {
      killAll();
      await Promise.all(servers.map((server) => server.ended));
      await Promise.all(servers.map((server) => server.wire.close()));
      await upstream.close();
      await superuser.end();
      await db.drop();
      await postgres.close();
    },
  };
}

async function startThroughWire(db: TestDatabase, settings: Record<string, string>): Promise<CrashServer> {
  const { hostname, port } = new URL(db.ledgerUrl);
  const wire = new TcpProxy({ host: hostname, port: Number(port) });
  await wire.listen();
  const server = await startServerProcess(db, { DATABASE_URL: wire.through(db.ledgerUrl), ...settings });
  return {
    ...server,
    wire,
    async kill() {
      server.process.kill("SIGKILL");
      await server.ended;
    },
  };
}

function untilQuiet(superuser: Pool): Promise<void> {
  return until("no statement of a server runs", async () => {
    const { rowCount } = await superuser.query(
      "select from pg_stat_activity where application_name = 'pennyblack ledger' and state = 'active'",
    );
    return rowCount === 0;
  });
}
