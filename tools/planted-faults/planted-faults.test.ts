import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { plantedFaults } from "./faults.ts";
import { isInTenth, staleReason } from "./planted-faults.ts";

test("each fault has a unique id", () => {
  const ids = plantedFaults.map(({ id }) => id);
  assert.deepEqual(
    ids.filter((id, index) => ids.indexOf(id) !== index || !/^[a-z0-9]+(?:-[a-z0-9]+)+$/.test(id)),
    [],
  );
});

test("each fault applies to the current code, and its test exists", () => {
  const files = globSync("{server,ai-sdk,cli,tools,deploy,eval}/**/*.test.ts", { exclude: ["**/node_modules"] });
  for (const fault of plantedFaults) {
    assert.equal(staleReason(fault, readFileSync(fault.file, "utf8")), undefined, fault.id);
    const testFiles = files.filter((file) => fault.tests.some((words) => file.includes(words)));
    // A test that runs for several subjects has their name first.
    const titles = [`test("${fault.caughtBy}"`, `test(\`\${name}: ${fault.caughtBy}\``];
    assert.ok(
      testFiles.some((file) => titles.some((title) => readFileSync(file, "utf8").includes(title))),
      `${fault.id}: test "${fault.caughtBy}" not found`,
    );
  }
});

test("a fault is stale if its text is missing or ambiguous, or if it changes nothing", () => {
  const fault = { id: "x", description: "x", file: "x", find: "a", replace: "b", tests: [], caughtBy: "" };
  assert.equal(staleReason(fault, "cad"), undefined);
  for (const text of ["", "aa"]) assert.match(staleReason(fault, text) ?? "", /times/);
  assert.match(staleReason({ ...fault, replace: "a" }, "a") ?? "", /nothing/);
});

test("a tenth of the faults is about a tenth of them, and changes with the code", () => {
  const tenthOf = (change: string): string[] =>
    plantedFaults.filter((fault) => isInTenth(fault, readFileSync(fault.file, "utf8") + change)).map(({ id }) => id);
  for (const change of ["// one", "// two"]) {
    const { length } = tenthOf(change);
    assert.ok(length > plantedFaults.length / 40 && length < plantedFaults.length / 4, `${length}`);
    assert.deepEqual(tenthOf(change), tenthOf(change));
  }
  assert.notDeepEqual(tenthOf("// one"), tenthOf("// two"));
});
