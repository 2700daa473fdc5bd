import type { Row } from "./format-report.ts";

const left = 150;
const width = 720;
const rowHeight = 46;
const top = 64;
const barHeight = 14;

/** Draws a bar each for 20 and 40 candidates, with a line for the 95% interval of the gain. */
export function drawChart(rows: readonly Row[], queryCount: number): string {
  const height = top + rows.length * rowHeight + 40;
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" font-family="sans-serif" font-size="13">`,
    `<title>Authority nDCG@10 of each system over ${queryCount} rated queries</title>`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    `<text x="16" y="24" font-size="15" fill="#222222">Credibility of the top ten results (authority nDCG@10, ${queryCount} queries)</text>`,
    ...drawLegend(),
    ...drawScale(height),
    ...rows.flatMap((row, index) => drawRow(row, rows, top + index * rowHeight)),
    "</svg>",
  ].join("\n")}\n`;
}

const colors = ["#2f6f9f", "#9cc3dd"] as const;

function drawLegend(): string[] {
  return ["20 candidates", "40 candidates", "95% interval of the gain over upstream"].map((label, index) => {
    const x = left + index * 130;
    const mark =
      index < 2
        ? `<rect x="${x}" y="36" width="12" height="12" fill="${colors[index]}"/>`
        : `<line x1="${x}" y1="42" x2="${x + 12}" y2="42" stroke="#222222" stroke-width="1.5"/>`;
    return `${mark}<text x="${x + 18}" y="47" font-size="12" fill="#444444">${label}</text>`;
  });
}

function drawScale(height: number): string[] {
  return [0, 0.2, 0.4, 0.6, 0.8, 1].map(
    (value) =>
      `<line x1="${scaleX(value)}" y1="${top - 6}" x2="${scaleX(value)}" y2="${height - 30}" stroke="#dddddd"/>` +
      `<text x="${scaleX(value)}" y="${height - 14}" text-anchor="middle" fill="#666666">${value.toFixed(1)}</text>`,
  );
}

function drawRow(row: Row, rows: readonly Row[], y: number): string[] {
  const isBaseline = row.name === "upstream order";
  const name = `<text x="${left - 10}" y="${y + 20}" text-anchor="end" fill="#222222">${row.name}</text>`;
  const bars = row.credibility.map(({ mean, gain }, index) => {
    const barY = y + index * (barHeight + 2);
    const centerY = barY + barHeight / 2;
    const base = rows[0]?.credibility[index]?.mean ?? 0;
    const interval = isBaseline
      ? ""
      : `<line x1="${scaleX(base + gain.low)}" y1="${centerY}" x2="${scaleX(base + gain.high)}" y2="${centerY}" stroke="#222222" stroke-width="1.5"/>`;
    const bar = `<rect x="${left}" y="${barY}" width="${(scaleX(mean) - left).toFixed(1)}" height="${barHeight}" fill="${colors[index]}"/>`;
    const label = `<text x="${width - 8}" y="${barY + 11}" text-anchor="end" font-size="12" fill="#222222">${mean.toFixed(3)}</text>`;
    return bar + interval + label;
  });
  return [name, ...bars];
}

function scaleX(value: number): number {
  return Number((left + Math.min(value, 1.02) * (width - left - 60)).toFixed(1));
}
