import type { UsageGroup, UsageLine } from "../../api/usage.ts";
import { addMoney } from "../../words/format-money.ts";

export interface Count {
  searches: number;
  charged: string;
}

export interface Bucket extends Count {
  /** When the hour or day begins, UTC. */
  start: string;
  /** In the order of the series. */
  cells: Count[];
}

export interface Series {
  name: string;
  /** Several small ones that share a colour. */
  isRest: boolean;
}

export interface Pivot {
  series: Series[];
  buckets: Bucket[];
}

interface Wanted {
  from: string;
  to: string;
  by: "hour" | "day";
  group: UsageGroup | undefined;
  nameOf: (line: UsageLine) => string;
}

const mostSeries = 7;
const none: Count = { searches: 0, charged: "0.00" };

/** Lines into hours or days by series; the largest first, the smallest together. Hours without a search are there too. */
export function pivot(lines: readonly UsageLine[], { from, to, by, nameOf }: Wanted): Pivot {
  const byName = new Map<string, number>();
  for (const line of lines) byName.set(nameOf(line), (byName.get(nameOf(line)) ?? 0) + line.searches);
  const names = [...byName].toSorted(([, one], [, other]) => other - one).map(([name]) => name);
  const shown = names.length > mostSeries ? names.slice(0, mostSeries - 1) : names;
  const series = shown.map((name) => ({ name, isRest: false }));
  if (shown.length < names.length) series.push({ name: `${names.length - shown.length} others`, isRest: true });
  const byStart = Map.groupBy(lines, ({ start }) => Date.parse(start));
  const buckets = listStarts(from, to, by).map((start) => {
    const here = byStart.get(Date.parse(start)) ?? [];
    const cells = series.map(({ name, isRest }) =>
      addUp(here.filter((line) => (isRest ? !shown.includes(nameOf(line)) : nameOf(line) === name))),
    );
    return { start, cells, ...addUp(here) };
  });
  return { series, buckets };
}

/** What buckets come to, in all and by series. */
export function totalOf(buckets: readonly Bucket[], seriesCount: number): Count & { cells: Count[] } {
  const cells = Array.from({ length: seriesCount }, (_, index) =>
    addUp(buckets.map((bucket) => bucket.cells[index] ?? none)),
  );
  return { ...addUp(buckets), cells };
}

function addUp(counts: readonly Count[]): Count {
  if (counts.length === 0) return none;
  return {
    searches: counts.reduce((sum, { searches }) => sum + searches, 0),
    charged: addMoney(counts.map(({ charged }) => charged)),
  };
}

function listStarts(from: string, to: string, by: "hour" | "day"): string[] {
  const stepMs = by === "hour" ? 3_600_000 : 86_400_000;
  const first = Math.floor(Date.parse(from) / stepMs) * stepMs;
  const count = Math.max(0, Math.ceil((Date.parse(to) - first) / stepMs));
  return Array.from({ length: count }, (_, index) => new Date(first + index * stepMs).toISOString());
}
