import { addMoney, toNumber } from "../format/format-money.ts";
import type { MarginFigures } from "./queries.ts";

/** An upstream or a wallet. */
export interface Series {
  id: string;
  name: string;
}

export interface SeriesDay extends MarginFigures {
  day: string;
  seriesId: string;
}

export type Amount = "cost" | "margin";

/** Sums exactly. */
export function addFigures(rows: readonly MarginFigures[]): MarginFigures {
  const count = (name: "calls" | "unpaid_calls" | "abandoned_calls") => rows.reduce((sum, row) => sum + row[name], 0);
  const money = (name: "revenue" | "cost" | "unpaid_cost" | "margin") => addMoney(rows.map((row) => row[name]));
  return {
    calls: count("calls"),
    unpaid_calls: count("unpaid_calls"),
    abandoned_calls: count("abandoned_calls"),
    revenue: money("revenue"),
    cost: money("cost"),
    unpaid_cost: money("unpaid_cost"),
    margin: money("margin"),
  };
}

/** Every day from the first to the last, both included. */
export function listDays(from: string, to: string): string[] {
  const days: string[] = [];
  for (let time = Date.parse(from); time <= Date.parse(to); time += 86_400_000) {
    days.push(new Date(time).toISOString().slice(0, 10));
  }
  return days;
}

/** One bar per day with a part per series, named s0, s1 and so on: names of upstreams and wallets can contain dots. */
export function toBars(
  days: readonly string[],
  series: readonly Series[],
  rows: readonly SeriesDay[],
  amount: Amount,
): Record<string, number | string>[] {
  const byDay = Map.groupBy(rows, ({ day }) => day);
  return days.map((day) => {
    const own = byDay.get(day) ?? [];
    const bar: Record<string, number | string> = { day };
    for (const [index, { id }] of series.entries()) {
      const found = own.filter(({ seriesId }) => seriesId === id);
      bar[`s${index}`] = toNumber(addMoney(found.map((row) => row[amount])));
    }
    return bar;
  });
}

/** Round values that cover all bars, including zero: steps of 1, 2 or 5 times a power of ten. */
export function roundTicks(bars: readonly Record<string, number | string>[]): number[] {
  const heights = bars.map((bar) => Object.values(bar).filter((value) => typeof value === "number"));
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const top = Math.max(0, ...heights.map((values) => sum(values.filter((value) => value > 0))));
  const bottom = Math.min(0, ...heights.map((values) => sum(values.filter((value) => value < 0))));
  // A cent at least, because amounts are shown in cents.
  const rough = Math.max((top - bottom) / 4, 0.01);
  const power = 10 ** Math.floor(Math.log10(rough) + 1e-9);
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough - 1e-9) ?? 10);
  const first = Math.floor(bottom / step + 1e-9);
  const last = Math.max(Math.ceil(top / step - 1e-9), first + 1);
  return Array.from({ length: last - first + 1 }, (_, index) => Number(((first + index) * step).toFixed(2)));
}
