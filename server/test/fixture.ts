import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { formatReport, reconcile } from "../src/wallet/wallet.ts";
import { closeAfter } from "./support/close-after.ts";
import { createTestDatabase, type TestDatabase } from "./support/services/database.ts";
import { createTestWallet, startTestServer, type TestServer, type TestWallet } from "./support/services/server.ts";
import { type HostileUpstream, startHostileUpstream } from "./support/upstreams/hostile-upstream.ts";

type Settings = Record<string, string>;

export interface Fixture {
  db: TestDatabase;
  /** Returns ten results for each search until `behave` makes it fail. */
  upstream: HostileUpstream;
  server: TestServer;
  /** Starts another server with the same database, upstream and settings. With `t` it closes after that test. */
  startServer: (settings?: Settings, t?: TestContext) => Promise<TestServer>;
  createWallet: (balance?: string) => Promise<TestWallet>;
  assertBooksBalance: () => Promise<void>;
  close(): Promise<void>;
}

/**
 * A database, an upstream and a server. They close after the test `t`, or without one after the last test of the file.
 * Settings that need the database's URLs are given as a function.
 */
export async function createFixture(
  settings: Settings | ((db: TestDatabase) => Settings) = {},
  t?: TestContext,
): Promise<Fixture> {
  const db = await createDatabase(t);
  const upstream = closeAfter(await startHostileUpstream(), t);
  const own = typeof settings === "function" ? settings(db) : settings;
  const startServer: Fixture["startServer"] = async (more = {}, of = t) =>
    closeAfter(await startTestServer(db, { PENNYBLACK_SEARXNG_URL: upstream.url, ...own, ...more }), of);
  const server = await startServer();
  return {
    db,
    upstream,
    server,
    startServer,
    createWallet: (balance = "0.00") => createTestWallet(db, balance),
    assertBooksBalance: () => assertBooksBalance(db),
    async close() {
      await server.close();
      await upstream.close();
      await db.close();
    },
  };
}

/** Only the database, for tests without a server. */
export async function createDatabase(t?: TestContext): Promise<TestDatabase & { close(): Promise<void> }> {
  const db = await createTestDatabase();
  return closeAfter({ ...db, close: () => db.drop() }, t);
}

export async function assertBooksBalance({ owner }: Pick<TestDatabase, "owner">): Promise<void> {
  const report = await reconcile(owner);
  assert.ok(report.isClean, formatReport(report));
}
