import { formatUsd, toMicros, type UsagePeriod } from "@pennyblack/sdk";
import type { Terminal } from "./terminal.ts";

interface Bar {
  label: string;
  searches: number;
  micros: bigint;
}

/** Draws a bar for each day or hour with the number of live searches and their cost. */
export function drawUsage(lines: readonly UsagePeriod[], by: "hour" | "day", terminal: Terminal): string {
  const live = lines.filter((line) => line.mode === "live" && line.searches > 0);
  const free = [
    [sum(lines, (line) => (line.mode === "test" ? line.searches : 0)), "searches with test keys"],
    [sum(lines, ({ refusals }) => refusals), "refused requests"],
    [sum(lines, ({ replays }) => replays), "replays"],
  ] as const;
  const footnotes = free.flatMap(([count, name]) => (count > 0 ? [`${formatCount(count)} ${name}`] : []));
  const footnote = footnotes.length > 0 ? [`(plus ${footnotes.join(", ")}: free)`] : [];
  if (live.length === 0) return ["No live searches in this period.", ...footnote].join("\n");

  const bars = toBars(live, by);
  const total: Bar = {
    label: "total",
    searches: sum(bars, ({ searches }) => searches),
    micros: bars.reduce((micros, bar) => micros + bar.micros, 0n),
  };
  const labelWidth = bars[0]?.label.length ?? 0;
  const formatTotals = (bar: Bar) =>
    `${formatCount(bar.searches).padStart(formatCount(total.searches).length)}  ${formatUsd(bar.micros).padStart(formatUsd(total.micros).length)} USD`;
  const barWidth = Math.max(8, Math.min(40, terminal.width - labelWidth - formatTotals(total).length - 4));
  const maxSearches = Math.max(...bars.map((bar) => bar.searches));
  const draw = (bar: Bar) => {
    const blocks = drawBar((bar.searches / maxSearches) * barWidth);
    return `${bar.label}  ${terminal.paint("cyan", blocks)}${" ".repeat(barWidth - blocks.length)}  ${formatTotals(bar)}`;
  };
  const last = `${total.label.padEnd(labelWidth)}  ${" ".repeat(barWidth)}  ${formatTotals(total)}`;
  return [...bars.map(draw), terminal.paint("bold", last), ...footnote].join("\n");
}

/** One bar for each day or hour from the first to the last, including those without searches. */
function toBars(lines: readonly UsagePeriod[], by: "hour" | "day"): Bar[] {
  const stepMs = by === "hour" ? 3_600_000 : 86_400_000;
  const starts = lines.map((line) => Date.parse(line.start));
  const [first, last] = [Math.min(...starts), Math.max(...starts)];
  return Array.from({ length: Math.round((last - first) / stepMs) + 1 }, (_, index) => {
    const startMs = first + index * stepMs;
    const matching = lines.filter((_line, at) => starts[at] === startMs);
    const label = new Date(startMs).toISOString();
    return {
      label: by === "hour" ? label.slice(0, 16).replace("T", " ") : label.slice(0, 10),
      searches: sum(matching, ({ searches }) => searches),
      micros: matching.reduce((micros, line) => micros + toMicros(line.charged), 0n),
    };
  });
}

function sum<Item>(items: readonly Item[], countOf: (item: Item) => number | undefined): number {
  return items.reduce((total, item) => total + (countOf(item) ?? 0), 0);
}

const eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** Draws with a resolution of an eighth of a character. Any non-zero length is visible. */
function drawBar(length: number): string {
  const eighthCount = length === 0 ? 0 : Math.max(1, Math.round(length * 8));
  return "█".repeat(Math.floor(eighthCount / 8)) + (eighths[eighthCount % 8] ?? "");
}

function formatCount(searches: number): string {
  return searches.toLocaleString("en");
}
