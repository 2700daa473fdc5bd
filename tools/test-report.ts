// Runs every *.test.ts and reports what failed. The last line is exactly "N passed, N failed", plus the skipped ones
// if there are any. A run without tests, and a test file without tests, is a failure: silence is not success.
//
//   npm test                      everything
//   npm test -- wallet search     files whose path contains one of the words
//   npm test -- --name "refund"   tests whose name contains the words

import { globSync } from "node:fs";
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

const count = { passed: 0, failed: 0, skipped: 0 };
const failures: string[] = [];
const outputs = new Map<string, string>();
const failedFiles = new Set<string>();

if (files.length > 0) await runTests();
if (count.passed + count.failed === 0) failures.push("No test ran.");
for (const file of failedFiles) showOutput(file);
for (const failure of failures) console.log(`\n${failure}`);
console.log(`\n${count.passed} passed, ${count.failed} failed${count.skipped > 0 ? `, ${count.skipped} skipped` : ""}`);
process.exitCode = failures.length === 0 ? 0 : 1;

async function runTests(): Promise<void> {
  const events = run({
    files,
    concurrency: Math.max(2, availableParallelism()),
    timeout: fileTimeoutMs,
    execArgv: ["--import", new URL("end-open-file.ts", import.meta.url).href],
    ...(values.name === undefined ? {} : { testNamePatterns: [new RegExp(RegExp.escape(values.name), "i")] }),
  });
  for await (const event of events as AsyncIterable<Event>) {
    if (event.type === "test:pass") recordPass(event.data);
    else if (event.type === "test:fail") recordFailure(event.data);
    else if (event.type === "test:stdout" || event.type === "test:stderr") keepOutput(event.data);
  }
}

function recordPass(test: Result): void {
  if (test.details.type === "suite") return;
  if (isFileItself(test)) {
    if (values.name === undefined) fail(test, "holds no test");
  } else if (test.skip !== undefined || test.todo !== undefined) count.skipped += 1;
  else count.passed += 1;
}

function recordFailure(test: Result): void {
  const error = test.details.error;
  // The parent of a failed test fails too. It would say the same thing twice.
  if (error?.failureType === "subtestsFailed") return;
  if (test.todo !== undefined) count.skipped += 1;
  else fail(test, `${isFileItself(test) ? "the file itself" : test.name}\n${explain(error)}`);
}

function fail(test: Result, message: string): void {
  count.failed += 1;
  failures.push(`FAILED ${place(test)}: ${message}`);
  if (test.file !== undefined) failedFiles.add(test.file);
}

/** What a test file prints is shown only if something in it failed. */
function keepOutput({ file = "", message }: { file?: string; message: string }): void {
  const path = resolve(file);
  outputs.set(path, (outputs.get(path) ?? "") + message);
}

function showOutput(file: string): void {
  const output = outputs.get(file);
  if (output !== undefined) console.log(`\nOutput of ${relative(process.cwd(), file)}:\n${output.trimEnd()}`);
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
