import assert from "node:assert/strict";
import { test } from "node:test";
import { addFigures, listDays, roundTicks, type SeriesDay, toBars } from "./margin-figures.ts";

const figures = { calls: 2, unpaid_calls: 1, abandoned_calls: 1, revenue: "0.01", unpaid_cost: "0.005" };
const row = (day: string, seriesId: string, cost: string, margin: string): SeriesDay => ({
  ...figures,
  day,
  seriesId,
  cost,
  margin,
});

test("adds amounts exactly", () => {
  const total = addFigures([row("2030-01-31", "a", "0.1", "-0.000001"), row("2030-01-31", "b", "0.2", "0.01")]);
  assert.deepEqual(total, {
    calls: 4,
    unpaid_calls: 2,
    abandoned_calls: 2,
    revenue: "0.02",
    cost: "0.30",
    unpaid_cost: "0.01",
    margin: "0.009999",
  });
});

test("has a bar for every day, including days without calls", () => {
  const days = listDays("2030-01-30", "2030-02-01");
  assert.deepEqual(days, ["2030-01-30", "2030-01-31", "2030-02-01"]);
  const series = [
    { id: "a", name: "search.example" },
    { id: "b", name: "b" },
  ];
  const rows = [row("2030-01-31", "a", "0.10", "-0.05"), row("2030-02-01", "b", "0.20", "0.25")];
  assert.deepEqual(toBars(days, series, rows, "cost"), [
    { day: "2030-01-30", s0: 0, s1: 0 },
    { day: "2030-01-31", s0: 0.1, s1: 0 },
    { day: "2030-02-01", s0: 0, s1: 0.2 },
  ]);
});

test("ticks are round, include zero and cover stacked and negative bars", () => {
  assert.deepEqual(roundTicks([]), [0, 0.01]);
  assert.deepEqual(roundTicks([{ s0: 0.9, s1: 0.53 }]), [0, 0.5, 1, 1.5]);
  assert.deepEqual(roundTicks([{ s0: 0.18 }]), [0, 0.05, 0.1, 0.15, 0.2]);
  assert.deepEqual(roundTicks([{ s0: 1.2, s1: -0.4 }]), [-0.5, 0, 0.5, 1, 1.5]);
  assert.deepEqual(roundTicks([{ s0: 0.004 }]), [0, 0.01]);
  assert.deepEqual(roundTicks([{ s0: 1_000 }]), [0, 500, 1_000]);
});
