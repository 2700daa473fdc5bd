// Runs every *.test.ts and reports what failed. The last line is exactly "N passed, N failed", plus the skipped ones
// if there are any. A run without tests, and a test file without tests, is a failure: silence is not success.
//
//   npm test                      everything
//   npm test -- wallet search     files whose path contains one of the words
//   npm test -- --name "refund"   tests whose name contains the words
//
// A few files may fail because the machine was busy with the others: up to three are run once more, alone, and the
// report names them. Not in the ledger's room, nor where chance is at work: there a failure is a finding, and a second try
// would hide it.

import { globSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { relative, resolve } from "node:path";
import { run } from "node:test";
import { inspect, parseArgs } from "node:util";

type Result = {
  name: string;
  nesting: number;
  file?: string;
  line?: number;
  skip?: string | boolean;
  todo?: string | boolean;
  details: { type?: string; error?: Error & { failureType?: string } };
};

// Node's types call the stream of events "any". These are the events that matter here.
type Event =
  | { type: "test:pass" | "test:fail"; data: Result }
  | { type: "test:stdout" | "test:stderr"; data: { file?: string; message: string } };

const rooms = ["server", "sdk", "cli", "mcp", "console", "tools", "bench", "eval", "examples", "deploy"];
// Also what a test file gets that forgets to close a connection: it hangs, and fails here.
const fileTimeoutMs = 180_000;

const { values, positionals } = parseArgs({ allowPositionals: true, options: { name: { type: "string" } } });
const files = globSync(
  rooms.map((room) => `${room}/**/*.test.ts`),
  { exclude: ["**/node_modules", "**/dist"] },
)
  .filter((file) => positionals.length === 0 || positionals.some((word) => file.includes(word)))
  .toSorted();

const mostTriedAgain = 3;

interface FileResult {
  passed: number;
  skipped: number;
  failures: string[];
  /** Shown only if something in the file failed. */
  output: string;
}

const results = new Map<string, FileResult>();
const failedFiles = (): string[] => [...results.keys()].filter((file) => resultOf(file).failures.length > 0);

if (files.length > 0) await runTests(files, Math.max(2, availableParallelism()));
if (failedFiles().length <= mostTriedAgain)
  for (const file of failedFiles().filter(maySucceedAlone)) await tryAlone(file);
for (const file of failedFiles()) show(file);

const passed = sumOf(({ passed }) => passed);
const failed = sumOf(({ failures }) => failures.length);
const skipped = sumOf(({ skipped }) => skipped);
if (passed + failed === 0) console.log("\nNo test ran.");
console.log(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
process.exitCode = passed > 0 && failed === 0 ? 0 : 1;

async function runTests(chosen: string[], concurrency: number): Promise<void> {
  const events = run({
    files: chosen,
    concurrency,
    timeout: fileTimeoutMs,
    execArgv: ["--import", new URL("end-open-file.ts", import.meta.url).href],
    ...(values.name === undefined ? {} : { testNamePatterns: [new RegExp(RegExp.escape(values.name), "i")] }),
  });
  for await (const event of events as AsyncIterable<Event>) {
    if (event.type === "test:pass") recordPass(event.data);
    else if (event.type === "test:fail") recordFailure(event.data);
    else if (event.type === "test:stdout" || event.type === "test:stderr")
      resultOf(event.data.file).output += event.data.message;
  }
}

function maySucceedAlone(file: string): boolean {
  const hadCompany = files.length > 1 && files.includes(file);
  return hadCompany && !file.includes("/wallet/") && !readFileSync(file, "utf8").includes('"fast-check"');
}

async function tryAlone(file: string): Promise<void> {
  show(file);
  results.delete(file);
  await runTests([file], 1);
  console.log(`\nAlone, ${file} ${resultOf(file).failures.length === 0 ? "passed" : "failed again"}.`);
}

function recordPass(test: Result): void {
  if (test.details.type === "suite") return;
  if (isFileItself(test)) {
    if (values.name === undefined) recordMessage(test, "holds no test");
  } else if (test.skip !== undefined || test.todo !== undefined) resultOf(test.file).skipped += 1;
  else resultOf(test.file).passed += 1;
}

function recordFailure(test: Result): void {
  const error = test.details.error;
  // The parent of a failed test fails too. It would say the same thing twice.
  if (error?.failureType === "subtestsFailed") return;
  if (test.todo !== undefined) resultOf(test.file).skipped += 1;
  else recordMessage(test, `${isFileItself(test) ? "the file itself" : test.name}\n${explain(error)}`);
}

function recordMessage(test: Result, message: string): void {
  resultOf(test.file).failures.push(`FAILED ${place(test)}: ${message}`);
}

function resultOf(file = "unknown file"): FileResult {
  const path = relative(process.cwd(), resolve(file));
  const result = results.get(path) ?? { passed: 0, skipped: 0, failures: [], output: "" };
  results.set(path, result);
  return result;
}

function sumOf(part: (result: FileResult) => number): number {
  return results.values().reduce((sum, result) => sum + part(result), 0);
}

function show(file: string): void {
  const { failures, output } = resultOf(file);
  if (output !== "") console.log(`\nOutput of ${file}:\n${output.trimEnd()}`);
  for (const failure of failures) console.log(`\n${failure}`);
}

/** Node reports a file that holds no test, or that could not be loaded, as a test with the file's own name. */
function isFileItself(test: Result): boolean {
  return test.nesting === 0 && resolve(test.name) === test.file;
}

function place(test: Result): string {
  const file = test.file === undefined ? "unknown file" : relative(process.cwd(), test.file);
  return test.line === undefined ? file : `${file}:${test.line}`;
}

function explain(error: Error | undefined): string {
  return inspect(error?.cause ?? error, { depth: 6 })
    .split("\n")
    .filter((line) => !line.includes("(node:internal"))
    .map((line) => `  ${line}`)
    .join("\n");
}
