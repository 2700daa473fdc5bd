// Runs the *.test.ts files and reports failures. The last line is exactly "N passed, N failed", plus the number of skipped
// tests if there are any. A run without tests, or a test file without tests, fails. No test is retried.
//
//   npm test                      all tests of `npm run check`
//   npm test -- wallet search     files whose path contains one of the words, also long ones
//   npm test -- --name "refund"   tests whose name contains the text
//   npm test -- --seed 7          other random data than that of `npm run check`
//   npm test -- --long            the files *.long.test.ts, which only `npm run check:all` runs

import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { run } from "node:test";
import { inspect, parseArgs } from "node:util";
import { sortTestFiles } from "./sort-test-files.ts";
import { sourceFolders } from "./source-folders.ts";

type Result = {
  name: string;
  nesting: number;
  file?: string;
  line?: number;
  skip?: string | boolean;
  todo?: string | boolean;
  details: { type?: string; duration_ms?: number; error?: Error & { failureType?: string } };
};

// Node types the event stream as "any". These are the events used here.
type Event =
  | { type: "test:pass" | "test:fail" | "test:complete"; data: Result }
  | { type: "test:stdout" | "test:stderr"; data: { file?: string; message: string } };

// Also ends test files that hang because a connection was not closed. The slowest file takes two minutes on an idle machine,
// and up to five times as long if other files and other virtual machines take most of the CPU time.
const fileTimeoutMs = 600_000;

// Test files and the processes they start compile the same modules hundreds of times. The cache halves the CPU time of a start.
process.env["NODE_COMPILE_CACHE"] ??= resolve(".pennyblack/compile-cache");

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { name: { type: "string" }, seed: { type: "string" }, long: { type: "boolean", default: false } },
});
if (values.seed !== undefined) process.env["PENNYBLACK_TEST_SEED"] = values.seed;
const files = sortTestFiles(
  globSync(
    sourceFolders.map((folder) => `${folder}/**/*.test.ts`),
    { exclude: ["**/node_modules", "**/dist"] },
  ).filter((file) =>
    positionals.length === 0
      ? file.endsWith(".long.test.ts") === values.long
      : positionals.some((word) => file.includes(word)),
  ),
);

const slowestFiles = 30;

/** Each test file appends its CPU time when it ends. */
const cpuFolder = mkdtempSync(join(tmpdir(), "pennyblack-test-cpu-"));
const cpuFile = join(cpuFolder, "cpu");
process.env["PENNYBLACK_TEST_CPU_FILE"] = cpuFile;

interface FileResult {
  passed: number;
  skipped: number;
  failures: string[];
  /** Printed only if a test in the file failed. */
  output: string;
  seconds: number;
  cpuSeconds: number;
}

const results = new Map<string, FileResult>();
let finishedFiles = 0;
const failedFiles = (): string[] => [...results.keys()].filter((file) => resultOf(file).failures.length > 0);

// Two more than cores, because files wait for timers and other processes for nearly half of their time.
if (files.length > 0) await runTests(files, availableParallelism() + 2);
readCpuTimes();
for (const file of failedFiles()) printFailures(file);

const passed = sumOf(({ passed }) => passed);
const failed = countFailed();
const skipped = sumOf(({ skipped }) => skipped);
if (passed + failed === 0) console.log("\nNo tests found.");
printTimes();
console.log("");
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
process.exitCode = passed > 0 && failed === 0 ? 0 : 1;

async function runTests(selected: string[], concurrency: number): Promise<void> {
  const events = run({
    files: selected,
    concurrency,
    timeout: fileTimeoutMs,
    // The packages need not be built: the CLI, the console and the AI SDK tool import the source of the SDK.
    execArgv: [
      "--conditions=@pennyblack/source",
      ...["force-exit.ts", "record-cpu.ts"].flatMap((name) => ["--import", new URL(name, import.meta.url).href]),
    ],
    ...(values.name === undefined ? {} : { testNamePatterns: [new RegExp(RegExp.escape(values.name), "i")] }),
  });
  const startMs = performance.now();
  const progress = setInterval(() => {
    const minutes = Math.round((performance.now() - startMs) / 60_000);
    console.error(`${minutes} min: ${finishedFiles} of ${selected.length} files, ${countFailed()} failed`);
  }, 60_000);
  for await (const event of events as AsyncIterable<Event>) {
    if (event.type === "test:pass") recordPass(event.data);
    else if (event.type === "test:fail") recordFailure(event.data);
    else if (event.type === "test:complete" && isFileResult(event.data)) {
      finishedFiles += 1;
      resultOf(event.data.file).seconds += (event.data.details.duration_ms ?? 0) / 1_000;
    } else if (event.type === "test:stdout" || event.type === "test:stderr")
      resultOf(event.data.file).output += event.data.message;
  }
  clearInterval(progress);
}

function recordPass(test: Result): void {
  if (test.details.type === "suite") return;
  if (isFileResult(test)) {
    if (values.name === undefined) recordMessage(test, "contains no tests");
  } else if (test.skip !== undefined || test.todo !== undefined) resultOf(test.file).skipped += 1;
  else resultOf(test.file).passed += 1;
}

function recordFailure(test: Result): void {
  const error = test.details.error;
  // The parent of a failed test fails as well; report it only once.
  if (error?.failureType === "subtestsFailed") return;
  if (test.todo !== undefined) resultOf(test.file).skipped += 1;
  else
    recordMessage(test, `${isFileResult(test) ? "the file failed to load or run" : test.name}\n${formatError(error)}`);
}

function recordMessage(test: Result, message: string): void {
  resultOf(test.file).failures.push(`FAILED ${location(test)}: ${message}`);
}

function resultOf(file = "unknown file"): FileResult {
  const path = relative(process.cwd(), resolve(file));
  const result = results.get(path) ?? { passed: 0, skipped: 0, failures: [], output: "", seconds: 0, cpuSeconds: 0 };
  results.set(path, result);
  return result;
}

function sumOf(select: (result: FileResult) => number): number {
  return results.values().reduce((sum, result) => sum + select(result), 0);
}

function countFailed(): number {
  return sumOf(({ failures }) => failures.length);
}

function printFailures(file: string): void {
  const { failures, output } = resultOf(file);
  if (output !== "") console.log(`\nOutput of ${file}:\n${output.trimEnd()}`);
  for (const failure of failures) console.log(`\n${failure}`);
}

function readCpuTimes(): void {
  const lines = existsSync(cpuFile) ? readFileSync(cpuFile, "utf8").trimEnd().split("\n") : [];
  for (const [file, seconds] of lines.map((line) => line.split("\t"))) resultOf(file).cpuSeconds += Number(seconds);
  rmSync(cpuFolder, { recursive: true });
}

/** Of each file while others ran in parallel, and the CPU time of its process and those it started. */
interface Times {
  name: string;
  seconds: number;
  cpuSeconds: number;
}

function printTimes(): void {
  const files = [...results].map(([name, { seconds, cpuSeconds }]): Times => ({ name, seconds, cpuSeconds }));
  const folders = new Map<string, Times>();
  for (const { name: file, seconds, cpuSeconds } of files) {
    const name = file.split("/").slice(0, -1).slice(0, 3).join("/");
    const sum = folders.get(name) ?? { name, seconds: 0, cpuSeconds: 0 };
    folders.set(name, { name, seconds: sum.seconds + seconds, cpuSeconds: sum.cpuSeconds + cpuSeconds });
  }
  printTable("Slowest files, with their CPU time:", files);
  printTable("Sum per folder:", [...folders.values()]);
}

function printTable(title: string, rows: readonly Times[]): void {
  if (rows.length > 0) console.log(`\n${title}`);
  const slowest = rows.toSorted((left, right) => right.seconds - left.seconds).slice(0, slowestFiles);
  for (const { name, seconds, cpuSeconds } of slowest)
    console.log(`${seconds.toFixed(1).padStart(7)} s ${cpuSeconds.toFixed(1).padStart(7)} s  ${name}`);
}

/** Node reports the end of a file, and a file without tests or one that failed to load, as a test named after the file. */
function isFileResult(test: Result): boolean {
  return test.nesting === 0 && resolve(test.name) === test.file;
}

function location(test: Result): string {
  const file = test.file === undefined ? "unknown file" : relative(process.cwd(), test.file);
  return test.line === undefined ? file : `${file}:${test.line}`;
}

function formatError(error: Error | undefined): string {
  return inspect(error?.cause ?? error, { depth: 6 })
    .split("\n")
    .filter((line) => !line.includes("(node:internal"))
    .map((line) => `  ${line}`)
    .join("\n");
}
