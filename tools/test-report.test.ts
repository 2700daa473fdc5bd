import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

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
  return text.trimEnd().split("\n").at(-1);
}

test("a failed test is reported with its error and the output of its file", (t) => {
  const { status, text } = runReport(t, { "tools/a.test.ts": passes, "tools/b.test.ts": fails });
  assert.equal(status, 1);
  assert.equal(lastLine(text), "2 passed, 1 failed");
  assert.match(text, /FAILED tools\/b\.test\.ts:1: fails/);
  assert.match(text, /Error: wrong/);
  assert.match(text, /a trace/);
  assert.match(text, /Retried alone, tools\/b\.test\.ts failed again\./);
});

test("a file that fails in a parallel run is retried alone and marked in the report", (t) => {
  const { status, text } = runReport(t, { "tools/a.test.ts": passes, "tools/b.test.ts": failsOnce });
  assert.equal(status, 0);
  assert.equal(lastLine(text), "2 passed, 0 failed");
  assert.match(text, /Error: late/);
  assert.match(text, /Retried alone, tools\/b\.test\.ts passed\./);
});

for (const [name, file, text] of [
  ["a ledger test", "server/wallet/b.test.ts", failsOnce],
  ["a property-based test", "tools/b.test.ts", `${failsOnce} // "fast-check"`],
] as const) {
  test(`${name} is not retried`, (t) => {
    const { status, text: output } = runReport(t, { "tools/a.test.ts": passes, [file]: text });
    assert.equal(status, 1);
    assert.equal(lastLine(output), "1 passed, 1 failed");
  });
}

test("if many files fail, none is retried", (t) => {
  const files = Object.fromEntries(["a", "b", "c", "d"].map((name) => [`tools/${name}.test.ts`, fails]));
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
