import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { readCpuTime } from "./cpu-time.ts";

export interface StepResult {
  step: string;
  isOk: boolean;
  seconds: number;
  /** Printed by the step. */
  output: string;
}

/** Runs npm scripts one after the other and prints what each has printed. All run, even if one fails. */
export async function runSteps(steps: readonly string[]): Promise<StepResult[]> {
  const results: StepResult[] = [];
  for (const step of steps) {
    const startedMs = performance.now();
    const { status, output } = await runStep(step);
    const seconds = (performance.now() - startedMs) / 1_000;
    const isOk = status === 0;
    console.log(`== ${step}\n${output}== ${step}: ${isOk ? "ok" : "FAILED"} in ${seconds.toFixed(1)} s\n`);
    results.push({ step, isOk, seconds, output });
  }
  return results;
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

/** "12.3 min elapsed, 20.1 min of CPU time". The CPU time is that of the steps, without PostgreSQL and Redis. */
export function describeTime(): string {
  const minutes = (seconds: number): string => `${(seconds / 60).toFixed(1)} min`;
  return `${minutes(performance.now() / 1_000)} elapsed, ${minutes(readCpuTime().children)} of CPU time`;
}
