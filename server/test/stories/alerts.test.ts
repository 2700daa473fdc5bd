import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, test } from "node:test";
import { metricFaults } from "../support/assertions/metric-faults.ts";
import { readRules } from "../support/docs/read-rules.ts";
import { findPrometheus } from "../support/services/prometheus-programs.ts";

// Alert rules and their runbooks. promtool tests when a rule fires; these tests check that each alert has such tests in both
// directions, uses existing metrics and has a runbook.

const root = resolve(import.meta.dirname, "../../..");
const rules = readRules(join(root, "deploy/prometheus/rules"));
const names = [...new Set([...rules.matchAll(/- alert: (\w+)/g)].map(([, name = ""]) => name))];
const runbooks = join(root, "docs/runbooks");

const promtool = findPrometheus("promtool") ?? "promtool";
const skip =
  process.env["CI"] === undefined &&
  findPrometheus("promtool") === undefined &&
  "promtool is missing; .ci/run unpacks Debian's";

const folder = mkdtempSync(join(tmpdir(), "pennyblack-alerts-"));
after(() => rmSync(folder, { recursive: true }));

/** Runs the tests of the rules on a changed copy of the rules, with another interval between evaluations. */
function testRules(change: (text: string) => string, interval = "1m"): { status: number | null; output: string } {
  cpSync(join(root, "deploy/prometheus"), folder, { recursive: true });
  changeFiles(join(folder, "rules"), change);
  const tests = changeFiles(join(folder, "tests"), (text) =>
    text.replace("evaluation_interval: 1m", `evaluation_interval: ${interval}`),
  );
  const { status, stdout, stderr } = spawnSync(promtool, ["test", "rules", ...tests], { encoding: "utf8" });
  return { status, output: stdout + stderr };
}

function changeFiles(of: string, change: (text: string) => string): string[] {
  const paths = readdirSync(of).map((file) => join(of, file));
  for (const path of paths) writeFileSync(path, change(readFileSync(path, "utf8")));
  return paths;
}

/** Replaces the expression of every alert. */
function withExpression(text: string, expression: string): string {
  return (
    text
      .replaceAll(/(- alert: \w+\n {8})expr: (?:>-\n(?: {10}.*\n)+|.*\n)(?: {8}for: .*\n)?/g, `$1expr: ${expression}\n`)
      // No alert uses the recorded rates, and they take most of the time.
      .replaceAll(/ {6}- record: .*\n {8}expr: >-\n(?: {10}.*\n)+/g, "")
      .replaceAll(/ {2}- name: .*\n {4}rules:\n(?! {6})/g, "")
  );
}

test("every alert fires above its threshold and not just below it", { skip }, () => {
  const { status, output } = testRules((text) => text);
  assert.equal(status, 0, output);
});

test("an alert that never fires or always fires fails its tests", { skip }, () => {
  for (const expression of ["vector(0) > 0", "vector(1)"]) {
    // The same at any time, so that a few evaluations are enough.
    const { output } = testRules((text) => withExpression(text, expression), "10m");
    const failing = new Set([...output.matchAll(/alertname: (\w+)/g)].map(([, name]) => name));
    assert.deepEqual(
      names.filter((name) => !failing.has(name)),
      // It has to fire always.
      expression === "vector(1)" ? ["Watchdog"] : [],
      `${expression}: ${output}`,
    );
  }
});

test("rules use only existing metrics, labels and label values", () => {
  assert.match(rules, /\bpennyblack_search_requests_total\{/);
  assert.deepEqual(metricFaults(rules), []);
});

test("every alert links to a runbook with all sections, and every runbook is listed", () => {
  const addresses = [...rules.matchAll(/runbook_url: (\S+)/g)].map(([, address = ""]) => address);
  assert.equal(addresses.length, rules.match(/- alert: /g)?.length);
  const files = readdirSync(runbooks).map((file) => file.replace(/\.md$/, ""));
  for (const name of names) {
    const page = name.replaceAll(/(?<!^)(?=[A-Z])/g, "-").toLowerCase();
    assert.ok(addresses.includes(`http://localhost:8080/docs/runbooks/${page}`), `${name} does not lead to ${page}`);
    assert.ok(files.includes(page), `docs/runbooks/${page}.md is missing`);
    const text = readFileSync(join(runbooks, `${page}.md`), "utf8");
    const sections = [...text.matchAll(/^## (.+)\n\n(?=\S)/gm)].map(([, title]) => title);
    assert.deepEqual(sections, ["Meaning", "Diagnosis", "Mitigation", "Resolution"], page);
    assert.ok(text.includes(`\`${name}\``), `${page}.md does not name its alert`);
  }
  const list = readFileSync(join(root, "docs/runbooks.md"), "utf8");
  assert.deepEqual(
    files.filter((file) => !list.includes(`](runbooks/${file}.md)`)),
    [],
  );
});
