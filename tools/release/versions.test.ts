import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { root } from "./products.ts";
import { versionDifferences, versionFiles, withVersion } from "./versions.ts";

const files = new Map(versionFiles.map((file) => [file, readFileSync(join(root, file), "utf8")]));

test("every place has the same version", () => assert.deepEqual(versionDifferences(files), []));

test("another version reaches every place, and back", () => {
  const raised = withVersion(files, "1.2.3-rc.1");
  assert.deepEqual(versionDifferences(raised), []);
  for (const file of versionFiles) assert.notEqual(raised.get(file), files.get(file), file);
  const { version } = JSON.parse(files.get("server/package.json") ?? "") as { version: string };
  assert.deepEqual(withVersion(raised, version), files);
});

for (const file of versionFiles.filter((name) => name !== "server/package.json")) {
  test(`another version in ${file} is reported`, () => {
    const other = withVersion(files, "9.9.9").get(file) ?? "";
    const violations = versionDifferences(new Map([...files, [file, other]]));
    assert.ok(violations.length > 0);
    for (const violation of violations)
      assert.match(violation, new RegExp(`^${RegExp.escape(file)}: version 9\\.9\\.9`));
  });
}

test("a file without a version is reported", () => {
  const violations = versionDifferences(new Map([...files, ["sdk/src/settings.ts", ""]]));
  assert.deepEqual(violations, ["sdk/src/settings.ts: contains no version; see tools/release/versions.ts"]);
});
