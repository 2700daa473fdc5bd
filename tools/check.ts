// Runs all CI checks, cheapest first, and the image build in parallel with the checks before the tests, because it mostly
// waits for the network. All steps run even if one fails, so that one run reports every problem. The last line is
// "N passed, N failed": the test counts plus one failure for each other failed step.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";

const checks = [
  "format",
  "lint",
  "types",
  "imports",
  "unused",
  "stale",
  "openapi",
  "text",
  "supply-chain",
  "docs:build",
  "console:build",
];
const tests = [
  "test",
  "fuzz -- --inputs 50000",
  // One fault each for keys, searches and problems, with fast tests. `npm run planted-faults` runs all faults.
  "planted-faults -- --only mistyped-key-looked-up,hold-not-released,upstream-401-forwarded",
];

const failedSteps: string[] = [];
let counted = { passed: 0, failed: 0, skipped: 0 };

await Promise.all([runSteps(["image:build"]), runSteps(checks)]);
await runSteps(tests);

if (failedSteps.length > 0) console.log(`Failed: ${failedSteps.join(", ")}`);
const failed = counted.failed + failedSteps.length;
console.log(`${counted.passed} passed, ${failed} failed${counted.skipped > 0 ? `, ${counted.skipped} skipped` : ""}`);
process.exitCode = failed === 0 ? 0 : 1;

async function runSteps(steps: string[]): Promise<void> {
  for (const step of steps) {
    const startedMs = performance.now();
    const { status, output } = await runStep(step);
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
    console.log(`== ${step}\n${output}== ${step}: ${status === 0 ? "ok" : "FAILED"} in ${seconds} s\n`);

    if (step === "test") counted = readCount(output);
    // A test run can also fail without a failed test, for example if it crashed.
    if (status !== 0 && (step !== "test" || counted.failed === 0)) failedSteps.push(step);
  }
}

async function runStep(step: string): Promise<{ status: number; output: string }> {
  const child = spawn("npm", ["run", "--silent", ...step.split(" ")], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "close").then(
    () => child.exitCode ?? 1,
    (error: unknown) => {
      console.error(error);
      return 1;
    },
  );
  const [output, status] = await Promise.all([text(child.stdout), ended]);
  return { status, output };
}

function readCount(output: string): { passed: number; failed: number; skipped: number } {
  const match = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/.exec(output.trimEnd().split("\n").at(-1) ?? "");
  return { passed: Number(match?.[1] ?? 0), failed: Number(match?.[2] ?? 0), skipped: Number(match?.[3] ?? 0) };
}
