import assert from "node:assert/strict";
import { test } from "node:test";
import { type DatabaseState, findAttention, type UpstreamState } from "./attention.ts";

const now = new Date("2030-01-31T12:00:00Z");
const ago = (seconds: number): Date => new Date(now.getTime() - seconds * 1_000);

const healthyDatabase: DatabaseState = {
  lastReconciliation: { at: ago(3_600), differences: 0 },
  partitionDays: 14,
  oldestPendingSeconds: 59,
  sweptAt: ago(5),
  abandonedCalls: [],
};
const healthy: UpstreamState = { name: "brave", circuit: { state: "closed", until: null }, last_failure: null };

function failing(name: string, reason: string): UpstreamState {
  const until = "2030-01-31T12:05:00.000Z";
  return { name, circuit: { state: "open", until }, last_failure: { reason, at: "2030-01-31T12:00:00.000Z" } };
}

function describeItems(
  state: Partial<DatabaseState> | "unavailable",
  upstreams: UpstreamState[] = [healthy],
): string[] {
  const database = state === "unavailable" ? state : { ...healthyDatabase, ...state };
  return findAttention({ now, upstreams, database }).map(
    ({ severity, title, runbook }) => `${severity}: ${title}: ${runbook.replace("/docs/runbooks/", "")}`,
  );
}

test("returns nothing when everything is healthy", () => {
  assert.deepEqual(describeItems({}), []);
  // The circuit has closed since this failure.
  const past = { ...healthy, last_failure: { reason: "account_empty", at: "2030-01-31T11:00:00.000Z" } };
  assert.deepEqual(describeItems({ oldestPendingSeconds: undefined }, [past]), []);
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
    [{ sweptAt: ago(301) }, "page: No worker activity for five minutes: worker-not-seen"],
    [{ sweptAt: undefined }, "page: No worker activity for five minutes: worker-not-seen"],
    [
      { abandonedCalls: [{ walletId: "w1", calls: 320, cost: 1_600_001n }] },
      "ticket: Wallet w1 caused 320 unpaid upstream calls costing $1.600001 in the last hour: unpaid-calls",
    ],
    ["unavailable", "page: Database unavailable: own-availability"],
  ];
  for (const [database, line] of cases) assert.deepEqual(describeItems(database), [line]);
});

test("a failing upstream is a ticket while another is healthy, and a page when none is", () => {
  assert.deepEqual(describeItems({}, [failing("brave", "timeout"), { ...healthy, name: "exa" }]), [
    "ticket: brave is failing: upstream-sidelined",
  ]);
  assert.deepEqual(describeItems({}, [failing("brave", "timeout"), failing("exa", "status")]), [
    "page: brave is failing: upstream-sidelined",
    "page: exa is failing: upstream-sidelined",
  ]);
  assert.deepEqual(describeItems({}, [healthy, failing("exa", "account_empty"), failing("you", "credential")]), [
    "page: The exa account is out of credit: upstream-account-empty",
    "page: you rejects our API key: upstream-refuses-us",
  ]);
});

test("lists pages before tickets", () => {
  const lines = describeItems({ partitionDays: 3, sweptAt: undefined }, [
    failing("brave", "timeout"),
    { ...healthy, name: "exa" },
  ]);
  assert.deepEqual(
    lines.map((line) => line.split(":")[0]),
    ["page", "ticket", "ticket"],
  );
});
