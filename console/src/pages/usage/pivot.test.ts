import assert from "node:assert/strict";
import { test } from "node:test";
import { type Count, pivot, totalOf } from "./pivot.ts";

const line = (day: number, key: string, searches: number) => ({
  start: `2030-01-0${day}T00:00:00Z`,
  mode: "live" as const,
  key_id: key,
  searches,
  charged: (searches / 100).toFixed(2),
});
const options = {
  from: "2030-01-01T00:00:00.000Z",
  to: "2030-01-04T00:00:00.000Z",
  by: "day" as const,
  group: "key" as const,
  numberOf: ({ searches }: Count) => searches,
  labelOf: ({ key_id: id }: { key_id?: string }) => id ?? "",
};

test("includes every day, and rows and columns have the same total", () => {
  const { series, buckets } = pivot([line(1, "a", 3), line(3, "a", 1), line(3, "b", 10)], options);
  assert.deepEqual(
    series.map(({ name }) => name),
    ["b", "a"],
  );
  assert.deepEqual(
    buckets.map(({ searches, charged }) => [searches, charged]),
    [
      [3, "0.03"],
      [0, "0.00"],
      [11, "0.11"],
    ],
  );
  const total = totalOf(buckets, series.length);
  assert.deepEqual(total.cells, [
    { searches: 10, replays: 0, refusals: 0, charged: "0.10" },
    { searches: 4, replays: 0, refusals: 0, charged: "0.04" },
  ]);
  assert.equal(total.searches, 14);
  assert.equal(total.charged, "0.14");
});

test("combines small series without losing any", () => {
  const lines = Array.from({ length: 12 }, (_, index) => line(2, `key ${index}`, index + 1));
  const { series, buckets } = pivot(lines, options);
  assert.equal(series.length, 7);
  assert.equal(series.at(-1)?.name, "6 others");
  assert.equal(buckets[1]?.cells.at(-1)?.searches, 1 + 2 + 3 + 4 + 5 + 6);
  assert.equal(totalOf(buckets, series.length).searches, 78);
});

test("series are those of the chosen figure, and every figure is in the totals", () => {
  const refused = { ...line(2, "b", 0), refusals: 5, replays: 2 };
  const lines = [line(1, "a", 3), refused, { ...line(2, "c", 1), refusals: 7 }];
  const { series, buckets } = pivot(lines, { ...options, numberOf: ({ refusals }) => refusals });
  assert.deepEqual(
    series.map(({ name }) => name),
    ["c", "b"],
  );
  assert.deepEqual(totalOf(buckets, 2), {
    searches: 4,
    replays: 2,
    refusals: 12,
    charged: "0.04",
    cells: [
      { searches: 1, replays: 0, refusals: 7, charged: "0.01" },
      { searches: 0, replays: 2, refusals: 5, charged: "0.00" },
    ],
  });
});

test("hour buckets are whole UTC hours", () => {
  const { buckets } = pivot([], { ...options, by: "hour", from: "2030-01-01T10:30:00Z", to: "2030-01-01T12:10:00Z" });
  assert.deepEqual(
    buckets.map(({ start }) => start),
    ["2030-01-01T10:00:00.000Z", "2030-01-01T11:00:00.000Z", "2030-01-01T12:00:00.000Z"],
  );
});
