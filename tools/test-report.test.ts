import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { mayRetry } from "./retry-policy.ts";

const start = 'import { test } from "node:test"; import { existsSync, writeFileSync } from "node:fs";';
const passes = `${start} test("passes", () => {});`;
const fails = `${start} test("passes", () => {}); test("fails", () => { console.log("a trace"); throw new Error("wrong"); });`;
const failsOnce = `${start} test("fails once", () => { if (!existsSync("seen")) { writeFileSync("seen", ""); throw new Error("late"); } });`;

/** Runs test-report.ts on these files in a temporary folder. */
function runReport(
  t: { after(fn: () => void): void },
  files: Record<string, string>,
): { status: number | null; text: string } {
  const folder = mkdtempSync(join(tmpdir(), "pennyblack-report-"));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, ".."), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { status, stdout } = spawnSync(process.execPath, [join(import.meta.dirname, "test-report.ts")], {
    cwd: folder,
    env,
    encoding: "utf8",
  });
  return { status, text: stdout };
}

function lastLine(text: string): string | undefined {
  return lastLines(text).at(-1);
}

/** The number of retries and the totals. */
function lastLines(text: string): string[] {
  return text.trimEnd().split("\n").slice(-2);
}

test("a failed test is reported with its error and the output of its file", (t) => {
  const { status, text } = runReport(t, { "tools/a.test.ts": passes, "examples/b.test.ts": fails });
  assert.equal(status, 1);
  assert.deepEqual(lastLines(text), ["1 file retried", "2 passed, 1 failed"]);
  assert.match(text, /FAILED examples\/b\.test\.ts:1: fails/);
  assert.match(text, /Error: wrong/);
  assert.match(text, /a trace/);
  assert.match(text, /Retried alone, examples\/b\.test\.ts failed again\./);
});

test("a file that fails in a parallel run is retried alone and marked in the report", (t) => {
  const { status, text } = runReport(t, { "tools/a.test.ts": passes, "examples/b.test.ts": failsOnce });
  assert.equal(status, 0);
  assert.deepEqual(lastLines(text), ["1 file retried", "2 passed, 0 failed"]);
  assert.match(text, /Error: late/);
  assert.match(text, /Retried alone, examples\/b\.test\.ts passed\./);
});

for (const [name, file, text] of [
  ["a file outside the allow-list", "server/test/stories/b.test.ts", failsOnce],
  ["a property-based test", "examples/b.test.ts", `${failsOnce} // "fast-check"`],
] as const) {
  test(`${name} is not retried`, (t) => {
    const { status, text: output } = runReport(t, { "tools/a.test.ts": passes, [file]: text });
    assert.equal(status, 1);
    assert.deepEqual(lastLines(output), ["0 files retried", "1 passed, 1 failed"]);
  });
}

test("no test of the ledger, payments, searches, crashes or attacks may be retried", () => {
  const files = globSync("{server,sdk,cli,mcp,eval}/**/*.test.ts", { exclude: ["**/node_modules"] });
  const strict = files.filter((file) =>
    /stories|crashes|chaos|attack|evidence|payments|search|wallet|ledger/.test(file),
  );
  assert.ok(strict.length > 80, `${strict.length} files`);
  assert.deepEqual(
    strict.filter((file) => mayRetry(file, readFileSync(file, "utf8"))),
    [],
  );
});

test("the slowest files are listed, slowest first", (t) => {
  const slow = `${start} import { setTimeout } from "node:timers/promises"; test("slow", () => setTimeout(2_000));`;
  const { text } = runReport(t, { "tools/a.test.ts": passes, "tools/b.test.ts": slow });
  assert.match(
    text,
    /Slowest files:\n +\d+\.\d s {2}tools\/b\.test\.ts\n +\d+\.\d s {2}tools\/a\.test\.ts\n\n0 files retried\n/,
  );
});

test("if many files fail, none is retried", (t) => {
  const files = Object.fromEntries(["a", "b", "c", "d"].map((name) => [`examples/${name}.test.ts`, fails]));
  const { text } = runReport(t, files);
  assert.equal(lastLine(text), "4 passed, 4 failed");
  assert.doesNotMatch(text, /Retried alone/);
});

test("a run without tests and a file without tests fail", (t) => {
  const none = runReport(t, {});
  assert.deepEqual([none.status, lastLine(none.text)], [1, "0 passed, 0 failed"]);
  const empty = runReport(t, { "tools/a.test.ts": passes, "tools/b.test.ts": "" });
  assert.deepEqual([empty.status, lastLine(empty.text)], [1, "1 passed, 1 failed"]);
});
