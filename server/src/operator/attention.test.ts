import assert from "node:assert/strict";
import { test } from "node:test";
import { type DatabaseKnown, findAttention, type UpstreamState } from "./attention.ts";

const now = new Date("2030-01-31T12:00:00Z");
const ago = (seconds: number): Date => new Date(now.getTime() - seconds * 1_000);

const well: DatabaseKnown = {
  lastReconciliation: { at: ago(3_600), differences: 0 },
  partitionDays: 14,
  oldestPendingSeconds: 59,
  sweptAt: ago(5),
};
const healthy: UpstreamState = { name: "brave", circuit: { state: "closed", until: null }, last_failure: null };

function failing(name: string, reason: string): UpstreamState {
  const until = "2030-01-31T12:05:00.000Z";
  return { name, circuit: { state: "open", until }, last_failure: { reason, at: "2030-01-31T12:00:00.000Z" } };
}

function tell(database: Partial<DatabaseKnown> | "silent", upstreams: UpstreamState[] = [healthy]): string[] {
  const known = database === "silent" ? database : { ...well, ...database };
  return findAttention({ now, upstreams, database: known }).map(
    ({ severity, title, runbook }) => `${severity}: ${title}: ${runbook.replace("/docs/runbooks/", "")}`,
  );
}

test("all is well: nothing is said", () => {
  assert.deepEqual(tell({}), []);
  // A failure that was answered since is the past.
  const past = { ...healthy, last_failure: { reason: "account_empty", at: "2030-01-31T11:00:00.000Z" } };
  assert.deepEqual(tell({ oldestPendingSeconds: undefined }, [past]), []);
  assert.deepEqual(findAttention({ now, upstreams: [], database: undefined }), []);
});

test("each thing that is wrong is said once, with where to read on", () => {
  const cases: [Partial<DatabaseKnown> | "silent", string][] = [
    [{ lastReconciliation: { at: ago(60), differences: 1 } }, "page: The books have 1 difference: books-differ"],
    [
      { lastReconciliation: { at: ago(7_201), differences: 0 } },
      "ticket: The books have not been proven for two hours: reconciliation-too-old",
    ],
    [{ lastReconciliation: undefined }, "ticket: The books have not been proven for two hours: reconciliation-too-old"],
    [{ partitionDays: 6 }, "ticket: Partitions run out in 6 days: partitions-run-out"],
    [{ partitionDays: 1 }, "page: Partitions run out in 1 day: partitions-run-out"],
    [{ oldestPendingSeconds: 181 }, "page: A hold has been pending for 181 seconds: worker-not-seen"],
    [{ sweptAt: ago(301) }, "page: No worker has been seen for five minutes: worker-not-seen"],
    [{ sweptAt: undefined }, "page: No worker has been seen for five minutes: worker-not-seen"],
    ["silent", "page: The database does not answer operators: own-availability"],
  ];
  for (const [database, line] of cases) assert.deepEqual(tell(database), [line]);
});

test("an upstream that fails is a ticket while another is well, and a page when none is", () => {
  assert.deepEqual(tell({}, [failing("brave", "timeout"), { ...healthy, name: "exa" }]), [
    "ticket: brave is failing: upstream-sidelined",
  ]);
  assert.deepEqual(tell({}, [failing("brave", "timeout"), failing("exa", "status")]), [
    "page: brave is failing: upstream-sidelined",
    "page: exa is failing: upstream-sidelined",
  ]);
  assert.deepEqual(tell({}, [healthy, failing("exa", "account_empty"), failing("you", "credential")]), [
    "page: Our account with exa is empty: upstream-account-empty",
    "page: you refuses our credential: upstream-refuses-us",
  ]);
});

test("what cannot wait stands first", () => {
  const lines = tell({ partitionDays: 3, sweptAt: undefined }, [
    failing("brave", "timeout"),
    { ...healthy, name: "exa" },
  ]);
  assert.deepEqual(
    lines.map((line) => line.split(":")[0]),
    ["page", "ticket", "ticket"],
  );
});
