import assert from "node:assert/strict";
import { test } from "node:test";
import { type HourCount, summarize } from "./summarize.ts";

const now = Date.parse("2030-01-31T10:30:00Z");
const hour = (start: string, searches: number, succeeded = searches): HourCount => ({
  start: new Date(`${start}:00:00Z`),
  searches,
  succeeded,
  replays: 0,
  refusals: 0,
  charged: BigInt(succeeded) * 10_000n,
});

test("a wallet without searches has no burn rate, no typical day and no success rate", () => {
  const { burnPerDay, isBurnSteady, today, last24, hours } = summarize([], now);
  assert.equal(isBurnSteady, false);
  assert.deepEqual([burnPerDay, today.typicalByNow, last24.successRate, hours.length], [0n, undefined, undefined, 24]);
});

test("the burn rate of a new wallet is averaged over its age, but at least one day", () => {
  const firstDay = summarize([hour("2030-01-31T10", 50)], now);
  assert.deepEqual([firstDay.burnPerDay, firstDay.isBurnSteady], [500_000n, false]);
  // 48.5 hours since its first charge.
  const twoDays = summarize([hour("2030-01-29T10", 50), hour("2030-01-31T09", 50)], now);
  assert.ok(twoDays.isBurnSteady);
  assert.equal(twoDays.burnPerDay, (1_000_000n * 48n * 2n) / (48n * 2n * 2n + 2n));
});

test("the burn rate of an older wallet covers the last seven days", () => {
  const hours = [hour("2030-01-24T09", 1_000), hour("2030-01-24T11", 70), hour("2030-01-31T10", 70)];
  const { burnPerDay } = summarize(hours, now);
  // 09:00 is more than seven days ago; 11:00 is a little less.
  const ageMs = BigInt(now - Date.parse("2030-01-24T11:00:00Z"));
  assert.equal(burnPerDay, (1_400_000n * 86_400_000n) / ageMs);
});

test("the typical count by now covers whole hours and the elapsed part of the current hour", () => {
  const hours = [
    hour("2030-01-29T09", 10),
    hour("2030-01-29T10", 20),
    hour("2030-01-29T11", 1_000),
    hour("2030-01-31T08", 3),
  ];
  // Two days since the first search: (10 + half of 20) / 2.
  const { today } = summarize(hours, now);
  assert.deepEqual([today.searches, today.typicalByNow], [3, 10]);
});

test("the last 24 hours are the current hour and the 23 before it", () => {
  const { hours, last24 } = summarize(
    [hour("2030-01-30T10", 5), hour("2030-01-30T11", 4, 3), hour("2030-01-31T10", 4, 4)],
    now,
  );
  assert.deepEqual([hours[0]?.start.toISOString(), hours[0]?.searches], ["2030-01-30T11:00:00.000Z", 4]);
  assert.deepEqual([last24.searches, last24.succeeded, last24.successRate], [8, 7, 0.875]);
});

test("adds up rolled-up and recent counts of the same hour", () => {
  const { hours } = summarize([hour("2030-01-31T10", 5), hour("2030-01-31T10", 2)], now);
  assert.equal(hours.at(-1)?.searches, 7);
});
