import assert from "node:assert/strict";
import { test } from "node:test";
import { stackDays } from "./stack-days.ts";

const now = new Date("2030-01-31T12:00:00Z");
const line = (day: string, key: string, charged: string, mode: "live" | "test" = "live") => ({
  start: `${day}T00:00:00.000Z`,
  mode,
  key_id: key,
  searches: 3,
  charged,
});
const names = new Map([["k1", "crawler"]]);

test("each day has its exact total, including days without searches", () => {
  const usage = [line("2030-01-30", "k1", "0.10"), line("2030-01-30", "k2", "0.20"), line("2030-01-31", "k1", "0.01")];
  const { layers, days, total } = stackDays({ usage, names, mode: "live", days: 3, now });
  assert.deepEqual(
    days.map(({ day, total: dayTotal }) => [day, dayTotal]),
    [
      ["2030-01-29", "0.00"],
      ["2030-01-30", "0.30"],
      ["2030-01-31", "0.01"],
    ],
  );
  assert.equal(total, "0.31");
  assert.deepEqual(layers, [
    { id: "k2", name: "unknown key" },
    { id: "k1", name: "crawler" },
  ]);
  assert.deepEqual(days[1]?.exact, { k1: "0.10", k2: "0.20" });
});

test("groups the smaller keys into one layer without losing a cent", () => {
  const usage = Array.from({ length: 8 }, (_, index) => line("2030-01-31", `k${index}`, `0.0${index + 1}`));
  const { layers, days, total } = stackDays({ usage, names, mode: "live", days: 1, now });
  assert.deepEqual(
    layers.map(({ id }) => id),
    ["k7", "k6", "k5", "k4", "rest"],
  );
  assert.equal(layers.at(-1)?.name, "4 other keys");
  assert.equal(days[0]?.exact["rest"], "0.10");
  assert.equal(total, "0.36");
});

test("test mode counts test searches, and live mode ignores them", () => {
  const usage = [line("2030-01-31", "k1", "0.00", "test"), line("2030-01-31", "k2", "0.03")];
  assert.equal(stackDays({ usage, names, mode: "test", days: 1, now }).total, "3");
  assert.equal(stackDays({ usage, names, mode: "live", days: 1, now }).total, "0.03");
});
