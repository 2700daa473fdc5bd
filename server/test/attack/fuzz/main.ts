import { parseArgs } from "node:util";
import { type FuzzReport, runFuzz } from "./run-fuzz.ts";

//   npm run fuzz -- --inputs 1000000 --seed 3
//   npm run fuzz -- --seed 3 --batch 17          repeats batch 17 of that seed

const { values } = parseArgs({
  options: {
    inputs: { type: "string", default: "50000" },
    seed: { type: "string", default: "1" },
    batch: { type: "string" },
  },
});
const batch = values.batch === undefined ? {} : { batch: Number(values.batch) };
const inputs = values.batch === undefined ? Number(values.inputs) : (Number(values.batch) + 1) * 1_000;

let shownAt = 0;
const report = await runFuzz({ inputs, seed: Number(values.seed), ...batch, onProgress: showProgress });
showTable(report);
for (const { description, times, command, response } of report.failures.values()) {
  console.log(`\nFAILED ${description} (${times} times)\n  ${command.slice(0, 3_000)}\n  ${response.slice(0, 600)}`);
}
console.log(`\n${summary(report)}`);
process.exitCode = report.failures.size === 0 ? 0 : 1;

function showProgress(progress: FuzzReport): void {
  if (performance.now() - shownAt < 5_000) return;
  shownAt = performance.now();
  console.error(summary(progress));
}

function summary({ sent, seconds, p99Ms, maxMs, charged, failures, closed, retried }: FuzzReport): string {
  const rate = Math.round(sent / seconds);
  return `${sent} inputs, ${rate}/s, p99 ${p99Ms} ms, max ${maxMs} ms, ${closed} closed, ${retried} retried after 503, ${charged} charged, ${failures.size} distinct failures`;
}

function showTable({ statuses }: FuzzReport): void {
  for (const [name, counts] of [...statuses].toSorted(([left], [right]) => (left < right ? -1 : 1))) {
    const sorted = [...counts].toSorted(([left], [right]) => left - right);
    console.log(`${name.padEnd(46)} ${sorted.map(([status, times]) => `${status}:${times}`).join(" ")}`);
  }
}
