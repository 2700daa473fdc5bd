import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { escape, fontAttribute, paper } from "../server/test/pictures/draw-panels.ts";
import { insertCapacity } from "./capacity-table.ts";
import { targetNames, titles } from "./start-servers.ts";

// `npm run bench -- charts` updates docs/performance.md from the recorded output in docs/performance/NAME.txt. The last
// line of each file is JSON and is drawn as a chart; the other lines are copied to the page.

const docs = new URL("../docs/", import.meta.url).pathname;

type Figures = Record<string, number>;

export function drawCharts(): Record<string, number> {
  const search = readFigures("search");
  const latency = readFigures("latency");
  const shares = readFigures("shares");
  if (search) write("throughput", drawThroughput(search));
  if (latency) write("latency", drawLatency(latency));
  if (search && shares) write("cpu", drawCpu(search, shares));
  const growth = readFigures("growth");
  if (growth) write("growth", drawGrowth(growth));
  const page = join(docs, "performance.md");
  writeFileSync(page, insertOutputs(readFileSync(page, "utf8")));
  const capacity = join(docs, "runbooks/capacity.md");
  writeFileSync(capacity, insertCapacity(readFileSync(capacity, "utf8"), join(docs, "performance")));
  return {};
}

/** Replaces each code block below a `<!-- NAME.txt -->` comment with the recorded output. */
export function insertOutputs(page: string): string {
  return page.replace(/<!-- ([\w-]+)\.txt -->\n\n```text\n.*?```/gs, (_block, name: string) => {
    const lines = readOutput(name)?.trimEnd().split("\n").slice(0, -1) ?? [];
    return `<!-- ${name}.txt -->\n\n\`\`\`text\n${lines.join("\n").trim()}\n\`\`\``;
  });
}

function readOutput(name: string): string | undefined {
  const file = join(docs, "performance", `${name}.txt`);
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

function readFigures(name: string): Figures | undefined {
  const last = readOutput(name)?.trimEnd().split("\n").at(-1);
  return last === undefined ? undefined : (JSON.parse(last) as Figures);
}

function write(name: string, svg: string): void {
  writeFileSync(join(docs, "images", `performance-${name}.svg`), svg);
  console.log(`docs/images/performance-${name}.svg`);
}

interface Bar {
  label: string;
  /** Stacked in one row. */
  segments: { value: number; color: string; name?: string }[];
  valueLabel: string;
}

const primary = "#14171a";
const secondary = "#8f8a80";
const colors = ["#14171a", "#1f5aa6", "#a6501f", "#4f7a3a", "#7a3a6b", "#b08a2e", "#63686d", "#9fb3c8", "#c9b8a6"];

function drawThroughput(figures: Figures): string {
  const bars = targetNames.map((name): Bar => {
    const label = titles[name];
    const value = figures[`${name}_per_s`] ?? 0;
    const color = name === "billed" ? primary : secondary;
    return { label, segments: [{ value, color }], valueLabel: value.toLocaleString("en") };
  });
  return drawBars("Searches per second (10,000 wallets, everything on two cores)", bars);
}

function drawLatency(figures: Figures): string {
  const bars = [20, 50, 80].flatMap((load) =>
    (["p50", "p99"] as const).map((figure): Bar => {
      const value = figures[`added_${figure}_ms_at_${load}`] ?? 0;
      const color = figure === "p50" ? primary : secondary;
      return {
        label: `${figure} at ${load}% load`,
        segments: [{ value: Math.max(0, value), color }],
        valueLabel: `${value} ms`,
      };
    }),
  );
  return drawBars("Latency added by billing, in milliseconds", bars);
}

function drawCpu(search: Figures, shares: Figures): string {
  const categories = [...new Set(Object.keys(shares).map((key) => key.replace(/^(bare|billed) /, "")))];
  const bars = (["bare", "billed"] as const).map((name): Bar => {
    const total = search[`${name}_cpu_us`] ?? 0;
    const segments = categories.map((category, index) => ({
      value: (shares[`${name} ${category}`] ?? 0) * total,
      color: colors[index % colors.length] ?? primary,
      name: category,
    }));
    return { label: name, segments, valueLabel: `${total.toLocaleString("en")} us` };
  });
  return drawBars("Server CPU time per search by category", bars, categories);
}

const compact = new Intl.NumberFormat("en", { notation: "compact" });

function drawGrowth(figures: Figures): string {
  const steps = Object.entries(figures).filter(([key]) => key.startsWith("cpu_us_at_"));
  const bars = steps.map(([key, value]): Bar => {
    const [wallets = "", rows = ""] = key.match(/\d+/g) ?? [];
    const [some, many] = [wallets, rows].map((count) => compact.format(Number(count)));
    return {
      label: `${some} wallets, ${many} rows`,
      segments: [{ value, color: primary }],
      valueLabel: `${value.toFixed(1)} us`,
    };
  });
  return drawBars("PostgreSQL CPU time for hold and capture by ledger size", bars);
}

const [width, left, right, rowHeight] = [900, 250, 90, 30];

function drawBars(title: string, bars: readonly Bar[], legend: readonly string[] = []): string {
  const total = ({ segments }: Bar): number => segments.reduce((sum, { value }) => sum + value, 0);
  const maxTotal = Math.max(...bars.map(total));
  const scale = (value: number): number => (value / maxTotal) * (width - left - right);
  const rows = bars.map((bar, index) => {
    const y = 44 + index * rowHeight;
    let x = left;
    const rects = bar.segments.map(({ value, color, name }) => {
      const rect = `<rect x="${x.toFixed(1)}" y="${y + 7}" width="${Math.max(scale(value), 1).toFixed(1)}" height="16" fill="${color}">${name ? `<title>${escape(name)}</title>` : ""}</rect>`;
      x += scale(value);
      return rect;
    });
    return [
      `<text x="14" y="${y + 20}" font-size="13" fill="#14171a">${escape(bar.label)}</text>`,
      ...rects,
      `<text x="${(x + 8).toFixed(1)}" y="${y + 20}" font-size="12" fill="#63686d">${escape(bar.valueLabel)}</text>`,
    ].join("");
  });
  const legendTop = 56 + bars.length * rowHeight;
  const marks = legend.map((name, index) => {
    const [x, y] = [14 + (index % 3) * 290, legendTop + Math.floor(index / 3) * 22];
    const color = colors[index % colors.length];
    return `<rect x="${x}" y="${y}" width="12" height="12" fill="${color}"/><text x="${x + 20}" y="${y + 11}" font-size="12" fill="#14171a">${escape(name)}</text>`;
  });
  const height = legendTop + Math.ceil(legend.length / 3) * 22 + 4;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" ${fontAttribute}>`,
    `<rect width="100%" height="100%" fill="${paper}"/>`,
    `<text x="14" y="28" font-size="15" font-weight="600" fill="#14171a">${escape(title)}</text>`,
    ...rows,
    ...marks,
    "</svg>\n",
  ].join("\n");
}
