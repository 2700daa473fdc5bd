// Runs what is too long for `npm run check`, nightly and before a release.
//
//   npm run check:all                  all parts
//   npm run check:all -- --part chaos  one part; can be repeated

import { parseArgs } from "node:util";
import { parts, seed } from "./check-all-parts.ts";
import { describeTime, runSteps, type StepResult } from "./run-steps.ts";

const { values } = parseArgs({ options: { part: { type: "string", multiple: true } } });
const selected = values.part ?? Object.keys(parts);
const unknown = selected.filter((part) => !(part in parts));
if (unknown.length > 0) throw new Error(`Unknown part ${unknown.join(", ")}. Known: ${Object.keys(parts).join(", ")}.`);

process.env["PENNYBLACK_TEST_SEED"] = String(seed);
console.log(`seed ${seed}`);
const results: [string, StepResult][] = [];
for (const part of selected)
  results.push(...(await runSteps(parts[part] ?? [])).map((result): [string, StepResult] => [part, result]));

console.log("| Part | Step | Result | Duration |\n|---|---|---|---|");
for (const [part, { step, isOk, seconds }] of results)
  console.log(`| ${part} | \`${step}\` | ${isOk ? "ok" : "FAILED"} | ${(seconds / 60).toFixed(1)} min |`);
console.log(describeTime());
const failed = results.filter(([, { isOk }]) => !isOk).length;
console.log(`${results.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
