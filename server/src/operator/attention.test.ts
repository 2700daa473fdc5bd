import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type AttentionInput,
  type DatabaseState,
  findAttention,
  type ServerState,
  type UpstreamState,
} from "./attention.ts";

const now = new Date("2030-01-31T12:00:00Z");
const ago = (seconds: number): Date => new Date(now.getTime() - seconds * 1_000);

const healthyDatabase: DatabaseState = {
  lastReconciliation: { at: ago(3_600), differences: 0 },
  partitionDays: 14,
  oldestPendingSeconds: 59,
  worker: { seenAt: ago(59), crashes: 2, lateTasks: [] },
  abandonedCalls: [],
  usageLagSeconds: 900,
  webhookLagSeconds: 300,
  connections: 160,
  maxConnections: 200,
  archiver: { archivedAt: ago(900), failedAt: ago(901) },
  lastBackup: { at: ago(26 * 3_600) },
};
const healthy: UpstreamState = { name: "brave", circuit: { state: "closed", until: null }, last_failure: null };

function failing(name: string, reason: string): UpstreamState {
  const until = "2030-01-31T12:05:00.000Z";
  return { name, circuit: { state: "open", until }, last_failure: { reason, at: "2030-01-31T12:00:00.000Z" } };
}

function describeItems(state: Partial<DatabaseState> | "unavailable", more: Partial<AttentionInput> = {}): string[] {
  const database = state === "unavailable" ? state : { ...healthyDatabase, ...state };
  return findAttention({ now, upstreams: [healthy], database, ...more }).map(
    ({ severity, title, runbook }) => `${severity}: ${title}: ${runbook.replace("/docs/runbooks/", "")}`,
  );
}

test("returns nothing when everything is healthy", () => {
  assert.deepEqual(describeItems({}), []);
  // The circuit has closed since this failure.
  const past = { ...healthy, last_failure: { reason: "account_empty", at: "2030-01-31T11:00:00.000Z" } };
  assert.deepEqual(describeItems({ oldestPendingSeconds: undefined }, { upstreams: [past] }), []);
  assert.deepEqual(findAttention({ now, upstreams: [], database: undefined }), []);
});

test("reports each proxy that is not listed", () => {
  const items = findAttention({ now, upstreams: [], unlistedProxies: ["10.0.0.1", "10.0.0.2"], database: undefined });
  assert.deepEqual(
    items.map(({ severity, title, runbook }) => [severity, title, runbook]),
    [
      ["ticket", "A proxy is not listed: 10.0.0.1", "/docs/runbooks/unlisted-proxy"],
      ["ticket", "A proxy is not listed: 10.0.0.2", "/docs/runbooks/unlisted-proxy"],
    ],
  );
});

test("reports each problem once, with its runbook", () => {
  const { worker } = healthyDatabase;
  const cases: [Partial<DatabaseState> | "unavailable", string][] = [
    [{ lastReconciliation: { at: ago(60), differences: 1 } }, "page: Reconciliation found 1 difference: books-differ"],
    [
      { lastReconciliation: { at: ago(7_201), differences: 0 } },
      "ticket: No reconciliation for two hours: reconciliation-too-old",
    ],
    [{ lastReconciliation: undefined }, "ticket: No reconciliation for two hours: reconciliation-too-old"],
    [{ partitionDays: 6 }, "ticket: Partitions run out in 6 days: partitions-run-out"],
    [{ partitionDays: 1 }, "page: Partitions run out in 1 day: partitions-run-out"],
    [{ oldestPendingSeconds: 181 }, "page: A hold has been pending for 181 seconds: worker-not-seen"],
    [{ worker: { ...worker, seenAt: ago(61) } }, "page: No worker is running: worker-not-seen"],
    [{ worker: { ...worker, seenAt: undefined } }, "page: No worker is running: worker-not-seen"],
    [{ worker: { ...worker, crashes: 3 } }, "page: Workers crashed 3 times in the last ten minutes: worker-not-seen"],
    [
      { worker: { ...worker, lateTasks: ["prune"] } },
      "ticket: 1 task of the worker not done in time: prune: task-fails",
    ],
    [
      { abandonedCalls: [{ walletId: "w1", calls: 320, cost: 1_600_001n }] },
      "ticket: Wallet w1 caused 320 unpaid upstream calls costing $1.600001 in the last hour: unpaid-calls",
    ],
    [
      { archiver: { archivedAt: ago(901), failedAt: undefined } },
      "page: No WAL was archived for 15 minutes: archiving-fails",
    ],
    [{ archiver: { archivedAt: ago(60), failedAt: ago(59) } }, "page: Archiving WAL fails: archiving-fails"],
    [{ lastBackup: { at: ago(26 * 3_600 + 1) } }, "ticket: The last backup is older than 26 hours: backup-too-old"],
    [{ lastBackup: { at: undefined } }, "ticket: No backup was completed on the current primary: backup-too-old"],
    [{ usageLagSeconds: 960 }, "ticket: Usage is 16 minutes behind: usage-late"],
    [{ webhookLagSeconds: 301 }, "ticket: Webhooks are 5 minutes late: webhooks-late"],
    [{ connections: 161 }, "ticket: 161 of 200 database connections are in use: database-connections-high"],
    ["unavailable", "page: Database unavailable: own-availability"],
  ];
  for (const [database, line] of cases) assert.deepEqual(describeItems(database), [line]);
});

test("reports that WAL is not archived, except in development, and expects no backup that it cannot read", () => {
  const off = { archiver: undefined, lastBackup: { at: undefined } };
  assert.deepEqual(describeItems(off), []);
  assert.deepEqual(describeItems(off, { expectsArchive: true }), ["ticket: WAL archiving is off: archiving-fails"]);
  assert.deepEqual(describeItems({}, { expectsArchive: true }), []);
  assert.deepEqual(describeItems({ lastBackup: undefined }), []);
});

test("reports an OpenID Connect provider that does not respond", () => {
  assert.deepEqual(describeItems({}, { isSignInUnavailable: true }), [
    "ticket: The OpenID Connect provider does not respond: sign-in-unavailable",
  ]);
});

test("reports failing requests, long queues and missing servers of all servers together", () => {
  const quiet: ServerState = {
    host: "a",
    recent: { attempts: 100, own_errors: 0, upstream_errors: 0 },
    ledger_waiting: 0,
    clock_offset_s: 5,
  };
  const describeServers = (changes: Partial<ServerState>, expected = 2) =>
    findAttention({
      now,
      upstreams: [],
      servers: { reporting: [quiet, { ...quiet, host: "b", ...changes }], expected },
      database: undefined,
    }).map(({ severity, title, runbook }) => `${severity}: ${title}: ${runbook.replace("/docs/runbooks/", "")}`);
  const recent = (attempts: number, own: number, upstream: number): Partial<ServerState> => ({
    recent: { attempts, own_errors: own, upstream_errors: upstream },
  });
  assert.deepEqual(describeServers({ ledger_waiting: 500 }), []);
  assert.deepEqual(describeServers(recent(100, 4, 0)), [], "too few errors");
  assert.deepEqual(describeServers(recent(300, 5, 0)), [], "5 of 400 are 1.25 %");
  assert.deepEqual(describeServers(recent(200, 5, 0)), [
    "page: 5 of 300 requests failed in the last minute because of our own service: own-availability",
  ]);
  assert.deepEqual(describeServers(recent(100, 0, 14)), [], "14 of 200 are 7 %");
  assert.deepEqual(describeServers(recent(100, 0, 15)), [
    "page: 15 of 200 requests failed in the last minute, including upstream failures: end-to-end-availability",
  ]);
  for (const [offset, line] of [
    [5.1, "ticket: The clock of b is 5 s ahead of the database's: clock-offset"],
    [-61, "page: The clock of b is 61 s behind the database's: clock-offset"],
  ] as const)
    assert.deepEqual(describeServers({ clock_offset_s: offset }), [line]);
  assert.deepEqual(describeServers({ ledger_waiting: 501 }), [
    "page: 501 searches wait for the ledger on b: ledger-queue-long",
  ]);
  assert.deepEqual(describeServers({}, 3), ["ticket: 1 server of 3 not reporting: server-not-seen"]);
});

test("a cost cap is a ticket from 80% on, and a page when it is reached", () => {
  const capped = (ratio: number): UpstreamState => ({
    ...healthy,
    name: "brave",
    cap: { period: "day", amount: "20.00", spent: "16.00", ratio, resets_at: "2030-02-01T00:00:00.000Z" },
  });
  const describe = (...upstreams: UpstreamState[]): string[] => describeItems({}, { upstreams });
  assert.deepEqual(describe(capped(0.7999), healthy), []);
  assert.deepEqual(describe(capped(0.8), healthy), [
    "ticket: brave has spent 80% of its cost cap of $20.00 per day: upstream-cap",
  ]);
  const reached = "brave has reached its cost cap of $20.00 per day: upstream-cap";
  assert.deepEqual(describe(capped(1.02), healthy), [`page: ${reached}`]);
});

test("a failing upstream is a ticket while another is healthy, and a page when none is", () => {
  assert.deepEqual(describeItems({}, { upstreams: [failing("brave", "timeout"), { ...healthy, name: "exa" }] }), [
    "ticket: brave is failing: upstream-sidelined",
  ]);
  assert.deepEqual(describeItems({}, { upstreams: [failing("brave", "timeout"), failing("exa", "status")] }), [
    "page: brave is failing: upstream-sidelined",
    "page: exa is failing: upstream-sidelined",
  ]);
  assert.deepEqual(
    describeItems({}, { upstreams: [healthy, failing("exa", "account_empty"), failing("you", "credential")] }),
    [
      "page: The exa account is out of credit: upstream-account-empty",
      "page: you rejects our API key: upstream-refuses-us",
    ],
  );
});

test("lists pages before tickets", () => {
  const upstreams = [failing("brave", "timeout"), { ...healthy, name: "exa" }];
  const lines = describeItems({ partitionDays: 3, oldestPendingSeconds: 181 }, { upstreams });
  assert.deepEqual(
    lines.map((line) => line.split(":")[0]),
    ["page", "ticket", "ticket"],
  );
});
