import assert from "node:assert/strict";
import { test } from "node:test";
import { type HourCount, summarize } from "./summarize.ts";

const now = Date.parse("2030-01-31T10:30:00Z");
const hour = (start: string, searches: number, ok = searches): HourCount => ({
  start: new Date(`${start}:00:00Z`),
  searches,
  ok,
  charged: BigInt(ok) * 10_000n,
});

test("without a search there is no pace, no usual day and no rate", () => {
  const { burnPerDay, today, last24, hours } = summarize([], now);
  assert.deepEqual([burnPerDay, today.usualByNow, last24.successRate, hours.length], [0n, undefined, undefined, 24]);
});

test("a wallet that began today burns what it burnt today, not what a whole week would average", () => {
  assert.equal(summarize([hour("2030-01-31T10", 50)], now).burnPerDay, 500_000n);
  // Two days old: by two days, from the hour it began in.
  const twoDays = summarize([hour("2030-01-29T10", 50), hour("2030-01-31T09", 50)], now);
  assert.equal(twoDays.burnPerDay, (1_000_000n * 48n * 2n) / (48n * 2n * 2n + 2n));
});

test("an older wallet burns a seventh of its last seven days", () => {
  const hours = [hour("2030-01-24T09", 1_000), hour("2030-01-24T11", 70), hour("2030-01-31T10", 70)];
  const { burnPerDay } = summarize(hours, now);
  // The hour of 09 is more than seven days ago; the rest is not quite seven.
  const ageMs = BigInt(now - Date.parse("2030-01-24T11:00:00Z"));
  assert.equal(burnPerDay, (1_400_000n * 86_400_000n) / ageMs);
});

test("the usual day is as far as today is: whole hours, and of the hour under way what has passed of it", () => {
  const hours = [
    hour("2030-01-29T09", 10),
    hour("2030-01-29T10", 20),
    hour("2030-01-29T11", 1_000),
    hour("2030-01-31T08", 3),
  ];
  // Two days since the first: 10 + half of 20, over two.
  const { today } = summarize(hours, now);
  assert.deepEqual([today.searches, today.usualByNow], [3, 10]);
});

test("the last 24 hours are the hour under way and the 23 before it", () => {
  const { hours, last24 } = summarize(
    [hour("2030-01-30T10", 5), hour("2030-01-30T11", 4, 3), hour("2030-01-31T10", 4, 4)],
    now,
  );
  assert.deepEqual([hours[0]?.start.toISOString(), hours[0]?.searches], ["2030-01-30T11:00:00.000Z", 4]);
  assert.deepEqual(last24, { searches: 8, ok: 7, successRate: 0.875 });
});

test("hours told twice, counted and not yet counted, add up", () => {
  const { hours } = summarize([hour("2030-01-31T10", 5), hour("2030-01-31T10", 2)], now);
  assert.equal(hours.at(-1)?.searches, 7);
});
