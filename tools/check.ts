// Runs the checks of a change: what .ci/run runs. The tests run in parallel with the static checks. All steps run even if one
// fails, so that one run reports every problem. The last line is "N passed, N failed": the test counts plus one failure for
// each other failed step. `npm run check:all` runs the long tests as well.

import { describeTime, runSteps } from "./run-steps.ts";

/** Tests open these pages. */
const builds = ["console:build", "docs:build"];
const checks = ["format", "lint", "types", "imports", "unused", "stale", "openapi", "text", "supply-chain"];
const tests = ["test", "fuzz -- --inputs 10000", "planted-faults -- --tenth"];

const built = await runSteps(builds);
const results = [...built, ...(await Promise.all([runSteps(checks), runSteps(tests)])).flat()];

const counted = readCount(results.find(({ step }) => step === "test")?.output ?? "");
// A test run can also fail without a failed test, for example if it crashed.
const failedSteps = results.filter(({ step, isOk }) => !isOk && (step !== "test" || counted.failed === 0));
if (failedSteps.length > 0) console.log(`Failed: ${failedSteps.map(({ step }) => step).join(", ")}`);
console.log(describeTime());
const failed = counted.failed + failedSteps.length;
console.log(`${counted.passed} passed, ${failed} failed${counted.skipped > 0 ? `, ${counted.skipped} skipped` : ""}`);
process.exitCode = failed === 0 ? 0 : 1;

function readCount(output: string): { passed: number; failed: number; skipped: number } {
  const match = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/.exec(output.trimEnd().split("\n").at(-1) ?? "");
  return { passed: Number(match?.[1] ?? 0), failed: Number(match?.[2] ?? 0), skipped: Number(match?.[3] ?? 0) };
}
