import { parseArgs } from "node:util";
import { type FuzzReport, runFuzz } from "./run-fuzz.ts";

//   npm run fuzz -- --inputs 1000000 --seed 3
//   npm run fuzz -- --seed 3 --batch 17          repeats batch 17 of that seed
//   npm run fuzz -- --cost                       also reports inputs that use too much CPU time
//   npm run fuzz -- --inputs 0 --case "cookie"   measures the CPU time of the cases whose name matches

const { values } = parseArgs({
  options: {
    inputs: { type: "string", default: "50000" },
    seed: { type: "string", default: "1" },
    batch: { type: "string" },
    case: { type: "string" },
    cost: { type: "boolean", default: false },
  },
});
const batch = values.batch === undefined ? {} : { batch: Number(values.batch) };
const only = values.case === undefined ? {} : { case: new RegExp(values.case) };
const inputs = values.batch === undefined ? Number(values.inputs) : (Number(values.batch) + 1) * 1_000;

let shownAt = 0;
const shown = new Set<string>();
const report = await runFuzz({
  inputs,
  seed: Number(values.seed),
  hasCosts: values.cost,
  ...batch,
  ...only,
  onProgress: showProgress,
});
showTable(report);
for (const { description, times, command, response } of report.failures.values()) {
  console.log(`\nFAILED ${description} (${times} times)\n  ${command.slice(0, 3_000)}\n  ${response.slice(0, 600)}`);
}
console.log(`\n${summary(report)}`);
process.exitCode = report.failures.size === 0 ? 0 : 1;

function showProgress(progress: FuzzReport): void {
  for (const description of progress.failures.keys()) {
    if (!shown.has(description)) console.error(`FAILED ${description}`);
    shown.add(description);
  }
  if (performance.now() - shownAt < 5_000) return;
  shownAt = performance.now();
  console.error(summary(progress));
}

function summary({ sent, seconds, p99Ms, maxMs, charged, costCases, failures, closed, retried }: FuzzReport): string {
  const rate = Math.round(sent / seconds);
  return `${sent} inputs, ${rate}/s, p99 ${p99Ms} ms, max ${maxMs} ms, ${closed} closed, ${retried} retried after 503, ${charged} charged, ${costCases} cost cases, ${failures.size} distinct failures`;
}

function showTable({ statuses }: FuzzReport): void {
  for (const [name, counts] of [...statuses].toSorted(([left], [right]) => (left < right ? -1 : 1))) {
    const sorted = [...counts].toSorted(([left], [right]) => left - right);
    console.log(`${name.padEnd(46)} ${sorted.map(([status, times]) => `${status}:${times}`).join(" ")}`);
  }
}
