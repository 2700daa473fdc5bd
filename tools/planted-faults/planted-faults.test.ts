import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { plantedFaults } from "./faults.ts";
import { staleReason } from "./planted-faults.ts";

test("each fault applies to the current code, its test exists, and docs/security.md has their number", () => {
  const files = globSync("{server,tools,deploy}/**/*.test.ts", { exclude: ["**/node_modules"] });
  assert.ok(readFileSync("docs/security.md", "utf8").includes(`Introduces ${plantedFaults.length} small bugs`));
  for (const fault of plantedFaults) {
    assert.equal(staleReason(fault, readFileSync(fault.file, "utf8")), undefined, fault.description);
    const testFiles = files.filter((file) => fault.tests.some((words) => file.includes(words)));
    // A test that runs for several subjects has their name first.
    const titles = [`test("${fault.caughtBy}"`, `test(\`\${name}: ${fault.caughtBy}\``];
    assert.ok(
      testFiles.some((file) => titles.some((title) => readFileSync(file, "utf8").includes(title))),
      `${fault.description}: test "${fault.caughtBy}" not found`,
    );
  }
});

test("a fault is stale if its text is missing or ambiguous, or if it changes nothing", () => {
  const fault = { description: "x", file: "x", find: "a", replace: "b", tests: [], caughtBy: "" };
  assert.equal(staleReason(fault, "cad"), undefined);
  for (const text of ["", "aa"]) assert.match(staleReason(fault, text) ?? "", /times/);
  assert.match(staleReason({ ...fault, replace: "a" }, "a") ?? "", /nothing/);
});
