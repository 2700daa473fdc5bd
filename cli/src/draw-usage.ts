import type { UsageLine } from "@pennyblack/sdk";
import type { Terminal } from "./terminal.ts";

interface Bar {
  label: string;
  searches: number;
  micros: bigint;
}

/** A bar for each day or hour: how many live searches, and what they cost. */
export function drawUsage(lines: readonly UsageLine[], by: "hour" | "day", terminal: Terminal): string {
  const live = lines.filter((line) => line.mode === "live");
  const tests = lines.filter((line) => line.mode === "test").reduce((sum, line) => sum + line.searches, 0);
  const note = tests > 0 ? [`(and ${count(tests)} with test keys, which cost nothing)`] : [];
  if (live.length === 0) return ["No live searches in this time.", ...note].join("\n");

  const bars = toBars(live, by);
  const total: Bar = {
    label: "total",
    searches: bars.reduce((sum, bar) => sum + bar.searches, 0),
    micros: bars.reduce((sum, bar) => sum + bar.micros, 0n),
  };
  const labelWidth = bars[0]?.label.length ?? 0;
  const numbers = (bar: Bar) =>
    `${count(bar.searches).padStart(count(total.searches).length)}  ${usd(bar.micros).padStart(usd(total.micros).length)} USD`;
  const barWidth = Math.max(8, Math.min(40, terminal.width - labelWidth - numbers(total).length - 4));
  const most = Math.max(...bars.map((bar) => bar.searches));
  const draw = (bar: Bar) => {
    const drawn = drawBar((bar.searches / most) * barWidth);
    return `${bar.label}  ${terminal.paint("cyan", drawn)}${" ".repeat(barWidth - drawn.length)}  ${numbers(bar)}`;
  };
  const last = `${total.label.padEnd(labelWidth)}  ${" ".repeat(barWidth)}  ${numbers(total)}`;
  return [...bars.map(draw), terminal.paint("bold", last), ...note].join("\n");
}

/** One for each day or hour between the first and the last, also for those without a search. */
function toBars(lines: readonly UsageLine[], by: "hour" | "day"): Bar[] {
  const stepMs = by === "hour" ? 3_600_000 : 86_400_000;
  const starts = lines.map((line) => Date.parse(line.start));
  const [first, last] = [Math.min(...starts), Math.max(...starts)];
  return Array.from({ length: Math.round((last - first) / stepMs) + 1 }, (_, index) => {
    const startMs = first + index * stepMs;
    const here = lines.filter((_line, at) => starts[at] === startMs);
    const label = new Date(startMs).toISOString();
    return {
      label: by === "hour" ? label.slice(0, 16).replace("T", " ") : label.slice(0, 10),
      searches: here.reduce((sum, line) => sum + line.searches, 0),
      micros: here.reduce((sum, line) => sum + toMicros(line.charged), 0n),
    };
  });
}

const eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** In eighths of a character; the smallest is seen all the same. */
function drawBar(length: number): string {
  const parts = length === 0 ? 0 : Math.max(1, Math.round(length * 8));
  return "█".repeat(Math.floor(parts / 8)) + (eighths[parts % 8] ?? "");
}

// Money is never a `number`: sums of those are off by a cent sooner or later.
function toMicros(amount: string): bigint {
  const [whole = "0", fraction = ""] = amount.split(".");
  return BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, "0"));
}

function usd(micros: bigint): string {
  const fraction = (micros % 1_000_000n)
    .toString()
    .padStart(6, "0")
    .replace(/0{1,4}$/, "");
  return `${micros / 1_000_000n}.${fraction}`;
}

function count(searches: number): string {
  return searches.toLocaleString("en");
}
