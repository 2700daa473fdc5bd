import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { sortTestFiles } from "./sort-test-files.ts";

const start = 'import { test } from "node:test"; import { existsSync, writeFileSync } from "node:fs";';
const passes = `${start} test("passes", () => {});`;
const fails = `${start} test("passes", () => {}); test("fails", () => { console.log("a trace"); throw new Error("wrong"); });`;
const failsOnce = `${start} test("fails once", () => { if (!existsSync("seen")) { writeFileSync("seen", ""); throw new Error("late"); } });`;

/** Runs test-report.ts on these files in a temporary folder. */
function runReport(
  t: { after(fn: () => void): void },
  files: Record<string, string>,
  ...args: string[]
): { status: number | null; text: string } {
  const folder = mkdtempSync(join(tmpdir(), "pennyblack-report-"));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, ".."), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { status, stdout } = spawnSync(process.execPath, [join(import.meta.dirname, "test-report.ts"), ...args], {
    cwd: folder,
    env,
    encoding: "utf8",
  });
  return { status, text: stdout };
}

function lastLine(text: string): string | undefined {
  return text.trimEnd().split("\n").at(-1);
}

test("a failed test is reported with its error and the output of its file, and not retried", (t) => {
  const { status, text } = runReport(t, { "tools/a.test.ts": passes, "examples/b.test.ts": fails });
  assert.equal(status, 1);
  assert.equal(lastLine(text), "2 passed, 1 failed");
  assert.match(text, /FAILED examples\/b\.test\.ts:1: fails/);
  assert.match(text, /Error: wrong/);
  assert.match(text, /a trace/);
  assert.equal(lastLine(runReport(t, { "examples/b.test.ts": failsOnce }).text), "0 passed, 1 failed");
});

test("the slowest files and folders are listed, slowest first", (t) => {
  const slow = `${start} import { setTimeout } from "node:timers/promises"; test("slow", () => setTimeout(2_000));`;
  const { text } = runReport(t, { "tools/a.test.ts": passes, "sdk/src/b.test.ts": slow });
  const [files, folders] = ["Slowest files, with their CPU time:", "Sum per folder:"].map((title) =>
    [...(text.split(title)[1]?.split("\n\n")[0] ?? "").matchAll(/ s +[\d.]+ s {2}(.*)/g)].map(([, name]) => name),
  );
  assert.deepEqual(files, ["sdk/src/b.test.ts", "tools/a.test.ts"]);
  assert.deepEqual(folders, ["sdk/src", "tools"]);
});

test("the CPU time of a file includes the processes that it starts", (t) => {
  const busy = `const end = process.cpuUsage().user + 2e6; while (process.cpuUsage().user < end);`;
  const starts = `${start} import { spawnSync } from "node:child_process"; test("starts", () => { spawnSync(process.execPath, ["-e", ${JSON.stringify(busy)}]); });`;
  const { text } = runReport(t, { "tools/a.test.ts": starts });
  const seconds = Number(/ s +([\d.]+) s {2}tools\/a\.test\.ts/.exec(text)?.[1]);
  assert.ok(seconds >= 2, text);
});

test("long files run only if they are named", (t) => {
  const files = { "tools/a.test.ts": passes, "tools/b.long.test.ts": fails };
  assert.equal(lastLine(runReport(t, files).text), "1 passed, 0 failed");
  assert.equal(lastLine(runReport(t, files, "--long").text), "1 passed, 1 failed");
  assert.equal(lastLine(runReport(t, files, "tools/").text), "2 passed, 1 failed");
});

test("browsers run before the files that create networks, and fast files last", () => {
  const order = [
    "server/test/console/owner-flows.test.ts",
    "server/test/stories/search.test.ts",
    "server/test/faults/chaos/chaos.test.ts",
    "server/test/processes/failover.test.ts",
    "server/src/db/fence.test.ts",
    "tools/check-text.test.ts",
  ];
  assert.deepEqual(sortTestFiles(order.toReversed()), order);
});

test("a run without tests and a file without tests fail", (t) => {
  const none = runReport(t, {});
  assert.deepEqual([none.status, lastLine(none.text)], [1, "0 passed, 0 failed"]);
  const empty = runReport(t, { "tools/a.test.ts": passes, "tools/b.test.ts": "" });
  assert.deepEqual([empty.status, lastLine(empty.text)], [1, "1 passed, 1 failed"]);
});
