import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { plantedFaults } from "./faults.ts";
import { whyStale } from "./planted-faults.ts";

test("there are 33 faults, each can still be planted, and its tests exist", () => {
  const files = globSync("{server,tools}/**/*.test.ts", { exclude: ["**/node_modules"] });
  assert.equal(plantedFaults.length, 33);
  for (const fault of plantedFaults) {
    assert.equal(whyStale(fault, readFileSync(fault.file, "utf8")), undefined, fault.what);
    const named = files.filter((file) => fault.tests.some((words) => file.includes(words)));
    assert.ok(
      named.some((file) => readFileSync(file, "utf8").includes(`test("${fault.caughtBy}"`)),
      `${fault.what}: there is no test "${fault.caughtBy}"`,
    );
  }
});

test("a fault of a migration is planted in the last one that says it, not in what a later one replaced", () => {
  const migrations = globSync("server/migrations/*.sql").sort();
  for (const { file, find, what } of plantedFaults.filter((fault) => fault.file.startsWith("server/migrations/")))
    assert.equal(
      migrations.findLast((each) => readFileSync(each, "utf8").includes(find)),
      file,
      what,
    );
});

test("a fault that stands nowhere, stands twice or changes nothing is stale", () => {
  const fault = { what: "x", file: "x", find: "a", replace: "b", tests: [], caughtBy: "" };
  assert.equal(whyStale(fault, "cad"), undefined);
  for (const text of ["", "aa"]) assert.match(whyStale(fault, text) ?? "", /times/);
  assert.match(whyStale({ ...fault, replace: "a" }, "a") ?? "", /nothing/);
});
