import type { Panel } from "../../../tools/dashboard-panels.ts";

// Small charts in the colours of the docs, from Prometheus results.

export interface Series {
  legend: string;
  points: [seconds: number, value: number][];
}

export interface DrawnPanel {
  panel: Panel;
  series: Series[];
}

const ink = "#14171a";
const faint = "#63686d";
const hairline = "#d9d4c8";
export const paper = "#faf8f4";
const colours = ["#1f5aa6", "#a6501f", "#2f7d4f", "#7a4fa3", "#8a6d1d", "#b03a48", "#4a4f54"];
export const fontAttribute = 'font-family="system-ui, sans-serif"';

const width = 372;
const height = 220;
const plot = { left: 46, right: 12, top: 34, bottom: 62 };
const columns = 3;

export function drawDashboard(panels: readonly DrawnPanel[], { from, to }: { from: number; to: number }): string {
  const rows = Math.ceil(panels.length / columns);
  const cells = panels.map(
    (each, index) =>
      `<g transform="translate(${(index % columns) * width} ${Math.floor(index / columns) * height})">${drawPanel(each, from, to)}</g>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${columns * width} ${rows * height}" ${fontAttribute}>`,
    `<rect width="100%" height="100%" fill="${paper}"/>`,
    ...cells,
    "</svg>\n",
  ].join("\n");
}

function drawPanel({ panel, series }: DrawnPanel, from: number, to: number): string {
  const max = Math.max(...series.flatMap(({ points }) => points.map(([, value]) => value)), 0);
  const top = roundUp(max);
  const x = (seconds: number): number =>
    plot.left + ((seconds - from) / (to - from)) * (width - plot.left - plot.right);
  const y = (value: number): number => height - plot.bottom - (value / top) * (height - plot.top - plot.bottom);
  const lines = [0, 0.5, 1].map((share) => {
    const at = y(share * top).toFixed(1);
    return (
      `<line x1="${plot.left}" x2="${width - plot.right}" y1="${at}" y2="${at}" stroke="${hairline}"/>` +
      `<text x="${plot.left - 6}" y="${Number(at) + 3.5}" text-anchor="end" font-size="10" fill="${faint}">${formatValue(share * top, panel.unit)}</text>`
    );
  });
  const curves = series.map(({ points }, index) => {
    const path = points.map(([seconds, value]) => `${x(seconds).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
    return `<polyline points="${path}" fill="none" stroke="${colourOf(index)}" stroke-width="1.5"/>`;
  });
  const title = `<text x="${plot.left}" y="20" font-size="13" font-weight="600" fill="${ink}">${escape(panel.title)}</text>`;
  return [title, ...lines, ...curves, drawLegend(series)].join("");
}

function drawLegend(series: readonly Series[]): string {
  if (series.length === 0)
    return `<text x="${plot.left}" y="${height - plot.bottom + 20}" font-size="10" fill="${faint}">no data</text>`;
  let at = plot.left;
  let line = 0;
  return series
    .slice(0, 8)
    .map(({ legend }, index) => {
      const wide = 18 + legend.length * 6;
      if (at + wide > width - plot.right && at > plot.left) {
        at = plot.left;
        line += 1;
      }
      const [left, down] = [at, height - plot.bottom + 20 + line * 14];
      at += wide;
      return `<rect x="${left}" y="${down - 7}" width="8" height="8" fill="${colourOf(index)}"/><text x="${left + 12}" y="${down}" font-size="10" fill="${faint}">${escape(legend)}</text>`;
    })
    .join("");
}

function colourOf(index: number): string {
  return colours[index % colours.length] ?? ink;
}

/** Rounds up to 1, 2, 5, 10, ... */
function roundUp(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value) ?? value;
}

function formatValue(value: number, unit: string): string {
  const number = value >= 1_000 ? `${Number((value / 1_000).toPrecision(3))}k` : String(Number(value.toPrecision(3)));
  const small = value > 0 && value < 1;
  if (unit === "percentunit") return `${Number((value * 100).toPrecision(3))} %`;
  if (unit === "s") return small ? `${Number((value * 1_000).toPrecision(3))} ms` : `${number} s`;
  return unit === "currencyUSD" ? `$${number}` : number;
}

export function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
