// Runs all CI checks, cheapest first. All steps run even if one fails, so that one run reports every problem. The last
// line is "N passed, N failed": the test counts plus one failure for each other failed step.

import { spawnSync } from "node:child_process";

const steps = [
  "format",
  "lint",
  "types",
  "imports",
  "unused",
  "stale",
  "text",
  "supply-chain",
  "docs:build",
  "console:build",
  "image:build",
  "test",
  "fuzz -- --inputs 50000",
  // One fault each for keys, searches and problems, with fast tests. `npm run planted-faults` runs all faults.
  "planted-faults -- --only 27,30,36",
];

const failedSteps: string[] = [];
let tests = { passed: 0, failed: 0, skipped: 0 };

for (const step of steps) {
  console.log(`== ${step}`);
  const startedMs = performance.now();
  const { status, output } = runStep(step);
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  console.log(`== ${step}: ${status === 0 ? "ok" : "FAILED"} in ${seconds} s\n`);

  if (step === "test") tests = readCount(output);
  // A test run can also fail without a failed test, for example if it crashed.
  if (status !== 0 && (step !== "test" || tests.failed === 0)) failedSteps.push(step);
}

if (failedSteps.length > 0) console.log(`Failed: ${failedSteps.join(", ")}`);
const failed = tests.failed + failedSteps.length;
console.log(`${tests.passed} passed, ${failed} failed${tests.skipped > 0 ? `, ${tests.skipped} skipped` : ""}`);
process.exitCode = failed === 0 ? 0 : 1;

function runStep(step: string): { status: number; output: string } {
  const result = spawnSync("npm", ["run", "--silent", ...step.split(" ")], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: 1 << 28,
  });
  const output = result.stdout ?? "";
  process.stdout.write(output);
  if (result.error !== undefined) console.error(result.error.message);
  return { status: result.status ?? 1, output };
}

function readCount(output: string): { passed: number; failed: number; skipped: number } {
  const match = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/.exec(output.trimEnd().split("\n").at(-1) ?? "");
  return { passed: Number(match?.[1] ?? 0), failed: Number(match?.[2] ?? 0), skipped: Number(match?.[3] ?? 0) };
}
