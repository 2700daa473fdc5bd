import assert from "node:assert/strict";
import { test } from "node:test";
import { findViolations, isAllowed, isSatisfied } from "./supply-chain.ts";

const good = { version: "1.0.0", license: "MIT", integrity: "sha512-abc" };
const npmrc = "save-exact=true\nignore-scripts=true\n";

function violationsOf(entry: object, readLicense: () => string | undefined = () => undefined): string[] {
  return findViolations({
    lock: { packages: { "": {}, "node_modules/x": { ...good, ...entry } } },
    npmrc,
    readLicense,
  });
}

test("accepts a package with an allowed license and a hash, and an unknown package for another platform", () => {
  assert.deepEqual(violationsOf({}), []);
  assert.deepEqual(violationsOf({ license: undefined, integrity: undefined, optional: true }), []);
});

test("reports a license that is not allowed, in the lock file or in the installed package", () => {
  assert.match(violationsOf({ license: "AGPL-3.0-only" }).join(), /AGPL/);
  assert.match(violationsOf({}, () => "SEE LICENSE IN EULA").join(), /EULA/);
  assert.match(violationsOf({ license: undefined }).join(), /no license/);
});

test("OR requires one allowed license, AND requires all", () => {
  assert.ok(isAllowed("(GPL-2.0-only OR MIT)") && isAllowed("Apache-2.0 AND MIT"));
  assert.ok(!isAllowed("MIT AND GPL-2.0-only") && !isAllowed("GPL-2.0-only"));
});

test("reports a missing hash, an install script, and scripts not disabled in .npmrc", () => {
  assert.match(violationsOf({ integrity: undefined }).join(), /sha512/);
  assert.match(violationsOf({ integrity: "sha1-abc" }).join(), /sha512/);
  assert.match(violationsOf({ hasInstallScript: true }).join(), /script/);
  assert.match(
    findViolations({ lock: { packages: {} }, npmrc: "", readLicense: () => undefined }).join(),
    /ignore-scripts/,
  );
});

test("reports what npm install would warn about on a supported version of Node", () => {
  assert.match(violationsOf({ deprecated: "use y" }).join(), /x: deprecated: use y/);
  assert.match(violationsOf({ engines: { node: ">=22.20" } }).join(), /does not support Node 22\.19\.0 \(>=22\.20\)/);
  assert.match(violationsOf({ engines: { node: "^22.12" } }).join(), /does not support Node 24\.0\.0/);
  assert.deepEqual(violationsOf({ engines: { node: "^20.19.0 || >=22.12.0" } }), []);
  assert.deepEqual(violationsOf({ engines: { node: ">=30" }, optional: true }), [], "npm omits it without a warning");
});

test("evaluates the version ranges of engines", () => {
  const ranges = {
    "22.19.0": ["*", ">= 18", ">=20 <23", "^22.13||^24||>=26", "22", "22.x", "~22.19.0", ">18.0.0"],
    "24.0.0": [">=24"],
  };
  for (const [version, satisfied] of Object.entries(ranges)) {
    for (const range of satisfied) assert.ok(isSatisfied(version, range), `${version} ${range}`);
  }
  for (const range of ["^20.0.0", ">=22.20", "<22", "~22.18.0", "24", ">=23 <25"]) {
    assert.ok(!isSatisfied("22.19.0", range), range);
  }
  assert.throws(() => isSatisfied("22.19.0", "latest"), /cannot evaluate/);
});
