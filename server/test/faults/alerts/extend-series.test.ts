import assert from "node:assert/strict";
import { test } from "node:test";
import { type Extension, extendSeries } from "./extend-series.ts";

const extension: Extension = { startedAt: 1_000, recorded: 3, repeatedFrom: 1, minutes: 8 };

function extended(name: string, values: [number, string][]): string {
  const metric = { __name__: name, cell: 'a"b' };
  return extendSeries({ metric, values, isCounter: name.endsWith("_total") }, extension).values;
}

test("what follows a recording repeats its end, and a minute without a sample stays empty", () => {
  const samples: [number, string][] = [
    [1_061, "5"],
    [1_119, "6"],
    [1_125, "7"],
    [1_185, "99"],
  ];
  assert.equal(extended("up", samples), "_ 6 7 6 7 6 7 6");
  const unused = { metric: { __name__: "up", cell: 'a"b' }, values: [], isCounter: false };
  assert.equal(extendSeries(unused, extension).series, 'up{cell="a\\"b"}');
});

test("a counter keeps its rate, and a time moves on with the clock", () => {
  const minutes = (values: number[]): [number, string][] =>
    values.map((value, minute) => [1_000 + 60 * minute, String(value)]);
  assert.equal(extended("searches_total", minutes([0, 10, 12])), "0 10 12 14 16 18 20 22");
  assert.equal(
    extended("task_success_timestamp_seconds", minutes([990, 1_050, 1_110])),
    "-10 50 110 170 230 290 350 410",
  );
  assert.equal(extended("process_start_time_seconds", minutes([990, 990, 990])), "-10 -10 -10 -10 -10 -10 -10 -10");
});
