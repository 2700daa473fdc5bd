#!/usr/bin/env node
import { exec } from "node:child_process";
import { readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { Counts } from "./make-calls.ts";
import { parseTarget, TargetFault } from "./target.ts";
import { formatReport, testBudget } from "./test-budget.ts";

// Exit codes: 0 if the budget was enforced exactly, 1 if not, 2 for a usage error.

const usage = `Tests whether a prepaid gateway enforces its budgets under concurrency, retries, dropped connections and restarts.

Usage: pennyblack-overspend TARGET.json --budget N [options]

  --budget N           calls that the credential can pay for; set this budget in the gateway first
  --calls N            calls in total (default: 50 times the budget)
  --concurrency N      calls in parallel (default: 64)
  --retry SECONDS      how long a call without an answer is retried (default: 60)
  --drop SHARE         share of attempts whose connection the client closes early, 0 to 1 (default: 0)
  --timeout SECONDS    of an attempt (default: 15)
  --restart COMMAND    shell command that restarts the gateway
  --restart-every S    seconds between restarts (default: 5)
  --rest SECONDS       pause before the last fifth of the calls, without restarts, in which a killed gateway can release
                       money that it reserved for calls it never finished (default: 0)
  --json               print the report as JSON

Example: pennyblack-overspend targets/pennyblack.json --budget 100 --drop 0.05`;

process.exitCode = await main();

async function main(): Promise<number> {
  try {
    const options = readOptions();
    if (options === undefined) {
      console.log(usage);
      return 0;
    }
    const { restart, restartMs, restMs, calls } = options;
    const restarts = restart === undefined ? undefined : setInterval(() => exec(restart), restartMs);
    const rest = async (): Promise<void> => {
      clearInterval(restarts);
      await wait(restMs);
    };
    const report = await testBudget(options.target, { ...options, rest, onProgress: createProgress(calls) });
    console.log(options.isJson ? JSON.stringify(report) : formatReport(report));
    return report.isExact ? 0 : 1;
  } catch (error) {
    if (!(error instanceof TargetFault) && !(error instanceof TypeError)) throw error;
    console.error(`${error.message}\nSee: pennyblack-overspend --help`);
    return 2;
  }
}

function readOptions() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      budget: { type: "string" },
      calls: { type: "string" },
      concurrency: { type: "string", default: "64" },
      retry: { type: "string", default: "60" },
      drop: { type: "string", default: "0" },
      timeout: { type: "string", default: "15" },
      restart: { type: "string" },
      "restart-every": { type: "string", default: "5" },
      rest: { type: "string", default: "0" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const [file] = positionals;
  if (values.help) return undefined;
  if (file === undefined || positionals.length > 1) throw new TypeError("Name one target file.");
  const budget = readNumber("budget", values.budget, 1);
  return {
    target: parseTarget(readFileSync(file, "utf8"), process.env),
    budget,
    calls: values.calls === undefined ? 50 * budget : readNumber("calls", values.calls, 1),
    concurrency: readNumber("concurrency", values.concurrency, 1),
    retryMs: 1_000 * readNumber("retry", values.retry, 0),
    drop: readNumber("drop", values.drop, 0, 1),
    timeoutMs: 1_000 * readNumber("timeout", values.timeout, 0.001),
    restart: values.restart,
    restartMs: 1_000 * readNumber("restart-every", values["restart-every"], 0.1),
    restMs: 1_000 * readNumber("rest", values.rest, 0),
    isJson: values.json,
  };
}

function readNumber(name: string, text: string | undefined, min: number, max = 10_000_000): number {
  const value = Number(text || Number.NaN);
  const isCount = name === "budget" || name === "calls" || name === "concurrency";
  if ((!isCount || Number.isInteger(value)) && value >= min && value <= max) return value;
  throw new TypeError(`--${name} must be a number from ${min} to ${max}.`);
}

/** One line a second on standard error. */
function createProgress(calls: number): (counts: Counts) => void {
  let printedAt = performance.now();
  return ({ admitted, refused, failed, unanswered }) => {
    if (performance.now() - printedAt < 1_000) return;
    printedAt = performance.now();
    const done = admitted + refused + failed + unanswered;
    console.error(`${done} of ${calls} calls: ${admitted} admitted, ${refused} refused`);
  };
}
