import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPool, type Pool } from "../../../src/db/pool.ts";
import { until } from "../../support/assertions/until.ts";
import { createTestDatabase, type TestDatabase } from "../../support/services/database.ts";
import { type PrivatePostgres, startPrivatePostgres } from "../../support/services/private-postgres.ts";
import { createTestWallet, type TestWallet } from "../../support/services/server.ts";
import { type ServerProcess, startServerProcess } from "../../support/services/server-process.ts";
import { TcpProxy } from "../../support/services/tcp-proxy.ts";
import { startWorkerProcess, type WorkerProcess } from "../../support/services/worker-process.ts";
import { type AuditReport, audit } from "../audit.ts";
import { Journal } from "../journal.ts";
import type { Outcome, SearchRequest } from "../send-search.ts";
import { type DelayedUpstream, startDelayedUpstream } from "./delayed-upstream.ts";
import { createLedgerControls, type LedgerControls } from "./ledger-controls.ts";

/** A PostgreSQL, an upstream and servers that can all be killed, and the journal of their clients. */
export interface CrashFixture extends LedgerControls {
  postgres: PrivatePostgres;
  db: TestDatabase;
  upstream: DelayedUpstream;
  journal: Journal;
  startServer(settings?: Record<string, string>, awaited?: "ready" | "listening"): Promise<CrashServer>;
  startWorker(settings?: Record<string, string>): Promise<WorkerProcess>;
  createWallet(balance?: string): Promise<TestWallet>;
  /** Sends a search and waits until the upstream has its query. Finish it with `upstream.answer`. */
  searchUntilUpstream(serverUrl: string, request: SearchRequest): Promise<{ outcome: Promise<Outcome> }>;
  /** Waits for the statements of killed servers, which the database still executes. */
  untilQuiet(): Promise<void>;
  /** Retries requests without an answer, after aging their claims. Each is answered unless its wallet is empty. */
  finish(serverUrl: string, requests: readonly SearchRequest[]): Promise<void>;
  /** Expires all holds, then compares the journal with the ledger and reconciles the ledger. */
  assertBooksBalance(): Promise<AuditReport["counts"]>;
  close(): Promise<void>;
}

export interface CrashServer extends ServerProcess {
  /** The connection between the server and the database. */
  wire: TcpProxy;
  /** Sends kill -9 and waits for the process to end. */
  kill: () => Promise<void>;
}

export async function openCrashFixture(): Promise<CrashFixture> {
  const postgres = await startPrivatePostgres();
  const db = await createTestDatabase(postgres.superuserUrl);
  const upstream = await startDelayedUpstream();
  const folder = mkdtempSync(join(tmpdir(), "pennyblack-crash-"));
  const journal = new Journal(join(folder, "journal.jsonl"));
  const ledger = createLedgerControls(db);
  const servers: CrashServer[] = [];
  const workers: WorkerProcess[] = [];
  // Only a superuser sees the statements of other roles.
  const superuser = createPool({ url: db.superuserUrl, name: "watcher", connections: 1, onIdleError: () => {} });

  async function finish(serverUrl: string, requests: readonly SearchRequest[]): Promise<void> {
    await untilQuiet(superuser);
    for (const wallet of new Set(requests.map((request) => request.wallet))) await ledger.ageClaims(wallet);
    for (const request of requests) {
      const outcome = await journal.search(serverUrl, request);
      // The audit checks that a 402 is justified.
      assert.ok(outcome.kind === "answered" && [200, 402].includes(outcome.status), JSON.stringify(outcome));
    }
  }

  const killAll = (): void => {
    for (const { process: child } of [...servers, ...workers]) child.kill("SIGKILL");
  };
  // The runner ends a test file that hangs; its child processes must end with it.
  process.once("exit", killAll);
  process.once("SIGTERM", () => process.exit(1));

  return {
    ...ledger,
    postgres,
    db,
    upstream,
    journal,
    async startServer(settings = {}, awaited = "ready") {
      const server = await startThroughWire(db, { PENNYBLACK_SEARXNG_URL: upstream.url, ...settings }, awaited);
      servers.push(server);
      return server;
    },
    async startWorker(settings = {}) {
      const worker = await startWorkerProcess(db, settings);
      workers.push(worker);
      return worker;
    },
    createWallet: (balance = "0.05") => createTestWallet(db, balance),
    async searchUntilUpstream(serverUrl, request) {
      upstream.keepWaiting(request.query);
      const outcome = journal.search(serverUrl, request);
      await until("the upstream has the query", () => upstream.isWaiting(request.query));
      return { outcome };
    },
    finish,
    untilQuiet: () => untilQuiet(superuser),
    async assertBooksBalance() {
      await untilQuiet(superuser);
      await ledger.sweep();
      const { violations, counts } = await audit(db.ownerUrl, journal.read());
      assert.deepEqual(violations, []);
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
      await journal.close();
      rmSync(folder, { recursive: true });
    },
  };
}

async function startThroughWire(
  db: TestDatabase,
  settings: Record<string, string>,
  awaited: "ready" | "listening",
): Promise<CrashServer> {
  const { hostname, port } = new URL(db.ledgerUrl);
  const wire = new TcpProxy({ host: hostname, port: Number(port) });
  await wire.listen();
  const server = await startServerProcess(db, { DATABASE_URL: wire.through(db.ledgerUrl), ...settings }, [], awaited);
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
  return until("no server statement is active", async () => {
    const { rowCount } = await superuser.query(
      "select from pg_stat_activity where application_name = 'pennyblack ledger' and state = 'active'",
    );
    return rowCount === 0;
  });
}
