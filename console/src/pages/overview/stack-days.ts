import type { UsageLine } from "../../api/usage.ts";
import type { Mode } from "../../api/wallet.ts";
import { addMoney, toNumber } from "../../words/format-money.ts";

export interface Layer {
  /** Of the key, or of the rest. */
  id: string;
  name: string;
}

export interface StackedDay {
  /** As in 2026-11-15. */
  day: string;
  /** For drawing, by layer. */
  heights: Record<string, number>;
  /** For reading: exact, by layer; money in live mode, searches in test mode. */
  exact: Record<string, string>;
  total: string;
}

export interface Stack {
  layers: Layer[];
  days: StackedDay[];
  total: string;
}

const rest = "rest";
const mostLayers = 5;

/**
 * The last days of a wallet, each split by key. The keys that did most have a layer of their own, the others share one.
 * In test mode nothing costs anything, so searches are counted instead.
 */
export function stackDays(input: {
  use: readonly UsageLine[];
  names: ReadonlyMap<string, string>;
  mode: Mode;
  days: number;
  now: Date;
}): Stack {
  const { use, names, mode, days, now } = input;
  const lines = use.filter((line) => line.mode === mode && (mode === "test" || toNumber(line.charged) > 0));
  const amount = (line: UsageLine): string => (mode === "live" ? line.charged : String(line.searches));

  const layers = chooseLayers(lines, amount, names);
  const own = new Set(layers.map(({ id }) => id));
  const layerOf = (line: UsageLine): string => (own.has(keyOf(line)) ? keyOf(line) : rest);

  const stacked = lastDays(days, now).map((day) => {
    const ofDay = lines.filter((line) => line.start.startsWith(day));
    const exact = Object.fromEntries(
      layers.map(({ id }) => [id, sum(ofDay.filter((line) => layerOf(line) === id).map(amount), mode)]),
    );
    const heights = Object.fromEntries(Object.entries(exact).map(([id, text]) => [id, toNumber(text)]));
    return { day, heights, exact, total: sum(ofDay.map(amount), mode) };
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
  lines: readonly UsageLine[],
  amount: (line: UsageLine) => string,
  names: ReadonlyMap<string, string>,
): Layer[] {
  const weights = new Map<string, number>();
  for (const line of lines) weights.set(keyOf(line), (weights.get(keyOf(line)) ?? 0) + toNumber(amount(line)));
  const ids = [...weights].sort(([, one], [, other]) => other - one).map(([id]) => id);
  const own = ids.length > mostLayers ? ids.slice(0, mostLayers - 1) : ids;
  const layers = own.map((id) => ({ id, name: names.get(id) ?? "a key" }));
  return ids.length > own.length ? [...layers, { id: rest, name: `${ids.length - own.length} other keys` }] : layers;
}

function keyOf(line: UsageLine): string {
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
