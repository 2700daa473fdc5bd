import assert from "node:assert/strict";
import { test } from "node:test";
import type { StatusCounts } from "./read-status.ts";
import { summarizeCells, summarizeStatus } from "./summarize-status.ts";

const now = "2030-01-31T12:00:00.000Z";
const empty: StatusCounts = {
  now,
  counted_before: "2030-01-31T11:57:00.000Z",
  server_seen_at: "2030-01-31T11:59:57.000Z",
  outcomes: [],
  latencies: [],
  incidents: [],
};
const incident = { id: "1", title: "Slow", opened_at: now, closed_at: null, updates: [] };

function availabilityOf(outcomes: StatusCounts["outcomes"]): (number | null)[] {
  const { objectives } = summarizeStatus({ ...empty, outcomes });
  return objectives.slice(0, 2).map(({ value }) => value);
}

test("requests rejected because of the caller do not count, and failures of providers are not our own", () => {
  const day = "2030-01-31";
  assert.deepEqual(availabilityOf([[day, "insufficient_balance", 50]]), [null, null]);
  assert.deepEqual(
    availabilityOf([
      [day, "ok", 90],
      [day, "replayed", 5],
      [day, "upstream_timeout", 5],
      [day, "rate_limited", 99],
    ]),
    [0.95, 1],
  );
  for (const outcome of ["overloaded", "internal_error", "ledger_unavailable", "outcome_unknown", "expired"]) {
    assert.deepEqual(
      availabilityOf([
        [day, "ok", 99],
        [day, outcome, 1],
      ]),
      [0.99, 0.99],
      outcome,
    );
  }
});

test("a ratio is rounded down, so that one failure in a million is not 100%", () => {
  assert.deepEqual(
    availabilityOf([
      ["2030-01-31", "ok", 999_999],
      ["2030-01-31", "internal_error", 1],
    ]),
    [0.99999, 0.99999],
  );
});

test("there are 90 days up to today, and objectives cover the last 30", () => {
  const outcomes: StatusCounts["outcomes"] = [
    ["2029-11-03", "ok", 1],
    ["2030-01-01", "internal_error", 100],
    ["2030-01-02", "ok", 1],
  ];
  const { days, objectives } = summarizeStatus({ ...empty, outcomes });
  assert.deepEqual([days.length, days[0]?.day, days.at(-1)?.day], [90, "2029-11-03", "2030-01-31"]);
  assert.deepEqual([days[0]?.availability, days[59]?.availability, days[60]?.availability], [1, 0, 1]);
  assert.equal(objectives[0]?.value, 1);
});

test("the state is that of the servers and of the open incidents", () => {
  const stateOf = (change: Partial<StatusCounts>) => summarizeStatus({ ...empty, ...change }).state;
  assert.equal(stateOf({}), "operational");
  assert.equal(stateOf({ server_seen_at: null }), "unavailable");
  assert.equal(stateOf({ server_seen_at: "2030-01-31T11:58:59.000Z" }), "unavailable");
  assert.equal(stateOf({ incidents: [{ ...incident, impact: "degraded" }] }), "degraded");
  assert.equal(
    stateOf({
      incidents: [
        { ...incident, impact: "degraded" },
        { ...incident, impact: "outage" },
      ],
    }),
    "outage",
  );
  assert.equal(stateOf({ incidents: [{ ...incident, impact: "outage", closed_at: now }] }), "operational");
});

test("cells are counted together, and one that cannot be read hides no other", () => {
  const counts = (ok: number, failed: number, ms: number): StatusCounts => ({
    ...empty,
    outcomes: [
      ["2030-01-31", "ok", ok],
      ["2030-01-31", "upstream_error", failed],
    ],
    latencies: [["2030-01-31", ms, ok, 0]],
  });
  const cells = [
    { name: "us1", counts: counts(96, 0, 200) },
    { name: "us2", counts: counts(3, 1, 900) },
    { name: "us3", counts: undefined },
  ];
  const { days, state, cells: lines } = summarizeCells(cells, now);
  assert.deepEqual(days.at(-1), { day: "2030-01-31", availability: 0.99, p95_ms: 200 });
  assert.equal(state, "unavailable");
  assert.deepEqual(
    lines?.map(({ name, state: of, availability }) => [name, of, availability]),
    [
      ["us1", "operational", 1],
      ["us2", "operational", 0.75],
      ["us3", "unavailable", null],
    ],
  );
});
