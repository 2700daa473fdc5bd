import type { UsagePeriod } from "@pennyblack/sdk";
import type { UsageGroup } from "../../api/usage-group.ts";
import { addMoney } from "../../format/format-money.ts";

export interface Count {
  searches: number;
  replays: number;
  refusals: number;
  charged: string;
}

export interface Bucket extends Count {
  /** Start of the hour or day, in UTC. */
  start: string;
  /** One per series, in the same order. */
  cells: Count[];
}

export interface Series {
  name: string;
  /** Combines several small series. */
  isRest: boolean;
  /** The key, category, outcome or end user, if the series has only one. Keys can have the same name. */
  value: string | undefined;
}

export interface Pivot {
  series: Series[];
  buckets: Bucket[];
}

interface PivotOptions {
  from: string;
  to: string;
  by: "hour" | "day";
  group: UsageGroup | undefined;
  /** The figure that series are sorted by. Those without any are omitted. */
  numberOf: (count: Count) => number;
  labelOf: (line: UsagePeriod) => string;
}

/** The value that a line is grouped by, as in the filters of the list of searches. */
function groupOf(line: UsagePeriod, group: UsageGroup | undefined): string | undefined {
  if (group === "key") return line.key_id;
  if (group === "category") return line.category ?? "none";
  if (group === "end_user") return line.end_user;
  return group === "outcome" ? line.outcome : undefined;
}

const maxSeries = 7;
const none: Count = { searches: 0, replays: 0, refusals: 0, charged: "0.00" };

/** Groups lines by hour or day and series, largest series first. Empty buckets are included, small series combined. */
export function pivot(lines: readonly UsagePeriod[], options: PivotOptions): Pivot {
  const { from, to, by, group, numberOf, labelOf } = options;
  const byName = Map.groupBy(lines, labelOf);
  const names = [...byName]
    .map(([name, own]) => ({ name, size: numberOf(sumCounts(own.map(toCount))) }))
    .filter(({ size }) => size > 0)
    .toSorted((first, second) => second.size - first.size)
    .map(({ name }) => name);
  const shown = names.length > maxSeries ? names.slice(0, maxSeries - 1) : names;
  const series: Series[] = shown.map((name) => {
    const values = new Set(byName.get(name)?.map((line) => groupOf(line, group)));
    return { name, isRest: false, value: values.size === 1 ? [...values][0] : undefined };
  });
  if (shown.length < names.length) {
    series.push({ name: `${names.length - shown.length} others`, isRest: true, value: undefined });
  }
  const byStart = Map.groupBy(lines, ({ start }) => Date.parse(start));
  const buckets = listStarts(from, to, by).map((start) => {
    const bucketLines = byStart.get(Date.parse(start)) ?? [];
    const cells = series.map(({ name, isRest }) =>
      sumCounts(
        bucketLines
          .filter((line) => (isRest ? !shown.includes(labelOf(line)) : labelOf(line) === name))
          .map((line) => toCount(line)),
      ),
    );
    return { start, cells, ...sumCounts(bucketLines.map(toCount)) };
  });
  return { series, buckets };
}

/** Totals of the buckets, overall and by series. */
export function totalOf(buckets: readonly Bucket[], seriesCount: number): Count & { cells: Count[] } {
  const cells = Array.from({ length: seriesCount }, (_, index) =>
    sumCounts(buckets.map((bucket) => bucket.cells[index] ?? none)),
  );
  return { ...sumCounts(buckets), cells };
}

/** Replays and refusals are not counted by end user. */
function toCount({ searches, replays = 0, refusals = 0, charged }: UsagePeriod): Count {
  return { searches, replays, refusals, charged };
}

function sumCounts(counts: readonly Count[]): Count {
  if (counts.length === 0) return none;
  return {
    searches: counts.reduce((sum, { searches }) => sum + searches, 0),
    replays: counts.reduce((sum, { replays }) => sum + replays, 0),
    refusals: counts.reduce((sum, { refusals }) => sum + refusals, 0),
    charged: addMoney(counts.map(({ charged }) => charged)),
  };
}

function listStarts(from: string, to: string, by: "hour" | "day"): string[] {
  const stepMs = by === "hour" ? 3_600_000 : 86_400_000;
  const first = Math.floor(Date.parse(from) / stepMs) * stepMs;
  const count = Math.max(0, Math.ceil((Date.parse(to) - first) / stepMs));
  return Array.from({ length: count }, (_, index) => new Date(first + index * stepMs).toISOString());
}
