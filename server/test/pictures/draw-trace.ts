import { attributesOf, type ReceivedSpan } from "../support/services/trace-receiver.ts";
import { escape, fontAttribute, paper } from "./draw-panels.ts";

// A trace as a waterfall: the search, its steps, and the ledger statements that contain it.

const width = 1_116;
const rowHeight = 30;
const left = 250;
const right = 110;

export function drawTrace(
  root: ReceivedSpan,
  below: readonly ReceivedSpan[],
  batches: readonly ReceivedSpan[],
): string {
  const start = BigInt(root.startTimeUnixNano);
  const total = Number(BigInt(root.endTimeUnixNano) - start);
  const depthOf = (span: ReceivedSpan): number => {
    const parent = [root, ...below].find(({ spanId }) => spanId === span.parentSpanId);
    return parent ? depthOf(parent) + 1 : 0;
  };
  const rows = [root, ...below].flatMap((span) => [
    { span, depth: depthOf(span), colour: span === root ? "#14171a" : "#1f5aa6", suffix: "" },
    ...batches
      .filter(({ name }) => name === `ledger ${span.name}`)
      .map((batch) => ({
        span: batch,
        depth: 2,
        colour: "#a6501f",
        suffix: `, linked, batch of ${String(attributesOf(batch)["pennyblack.batch_size"])}`,
      })),
  ]);
  const height = rows.length * rowHeight + 20;
  const x = (nanos: bigint): number => left + (Number(nanos - start) / total) * (width - left - right);
  const lines = rows.map(({ span, depth, colour, suffix }, index) => {
    const [from, to] = [x(BigInt(span.startTimeUnixNano)), x(BigInt(span.endTimeUnixNano))];
    const y = 10 + index * rowHeight;
    const ms = Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e6;
    return [
      `<line x1="0" x2="${width}" y1="${y + rowHeight}" y2="${y + rowHeight}" stroke="#d9d4c8"/>`,
      `<text x="${14 + depth * 18}" y="${y + 20}" font-size="13" fill="#14171a">${escape(span.name + suffix)}</text>`,
      `<rect x="${from.toFixed(1)}" y="${y + 9}" width="${Math.max(to - from, 1.5).toFixed(1)}" height="12" fill="${colour}"/>`,
      `<text x="${(to + 6).toFixed(1)}" y="${y + 19}" font-size="11" fill="#63686d">${ms.toFixed(1)} ms</text>`,
    ].join("");
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" ${fontAttribute}>`,
    `<rect width="100%" height="100%" fill="${paper}"/>`,
    ...lines,
    "</svg>\n",
  ].join("\n");
}
