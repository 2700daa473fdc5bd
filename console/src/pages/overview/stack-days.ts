import type { UsagePeriod } from "@pennyblack/sdk";
import type { Mode } from "../../api/wallet.ts";
import { addMoney, toNumber } from "../../format/format-money.ts";

export interface Layer {
  /** Key id, or `rest`. */
  id: string;
  name: string;
}

export interface StackedDay {
  /** Such as 2026-11-15. */
  day: string;
  /** By layer, for drawing. */
  heights: Record<string, number>;
  /** By layer, exact: money in live mode, searches in test mode. */
  exact: Record<string, string>;
  total: string;
}

export interface Stack {
  layers: Layer[];
  days: StackedDay[];
  total: string;
}

const rest = "rest";
const maxLayers = 5;

/**
 * Daily usage stacked by key. The largest keys have their own layer, the others share one. Test searches are free, so
 * test mode counts searches instead of money.
 */
export function stackDays(input: {
  usage: readonly UsagePeriod[];
  names: ReadonlyMap<string, string>;
  mode: Mode;
  days: number;
  now: Date;
}): Stack {
  const { usage, names, mode, days, now } = input;
  const lines = usage.filter((line) => line.mode === mode && (mode === "test" || toNumber(line.charged) > 0));
  const amount = (line: UsagePeriod): string => (mode === "live" ? line.charged : String(line.searches));

  const layers = chooseLayers(lines, amount, names);
  const topKeys = new Set(layers.map(({ id }) => id));
  const layerOf = (line: UsagePeriod): string => (topKeys.has(keyOf(line)) ? keyOf(line) : rest);

  const stacked = lastDays(days, now).map((day) => {
    const dayLines = lines.filter((line) => line.start.startsWith(day));
    const exact = Object.fromEntries(
      layers.map(({ id }) => [id, sum(dayLines.filter((line) => layerOf(line) === id).map(amount), mode)]),
    );
    const heights = Object.fromEntries(Object.entries(exact).map(([id, text]) => [id, toNumber(text)]));
    return { day, heights, exact, total: sum(dayLines.map(amount), mode) };
  });
  return {
    layers,
    days: stacked,
    total: sum(
      stacked.map(({ total }) => total),
      mode,
    ),
  };
}

function chooseLayers(
  lines: readonly UsagePeriod[],
  amount: (line: UsagePeriod) => string,
  names: ReadonlyMap<string, string>,
): Layer[] {
  const totals = new Map<string, number>();
  for (const line of lines) totals.set(keyOf(line), (totals.get(keyOf(line)) ?? 0) + toNumber(amount(line)));
  const ids = [...totals].sort(([, first], [, second]) => second - first).map(([id]) => id);
  const topKeys = ids.length > maxLayers ? ids.slice(0, maxLayers - 1) : ids;
  const layers = topKeys.map((id) => ({ id, name: names.get(id) ?? "unknown key" }));
  return ids.length > topKeys.length
    ? [...layers, { id: rest, name: `${ids.length - topKeys.length} other keys` }]
    : layers;
}

function keyOf(line: UsagePeriod): string {
  return line.key_id ?? "";
}

function lastDays(count: number, now: Date): string[] {
  return Array.from({ length: count }, (_, index) =>
    new Date(now.getTime() - (count - 1 - index) * 86_400_000).toISOString().slice(0, 10),
  );
}

function sum(amounts: readonly string[], mode: Mode): string {
  return mode === "live" ? addMoney(amounts) : String(amounts.reduce((total, amount) => total + Number(amount), 0));
}
