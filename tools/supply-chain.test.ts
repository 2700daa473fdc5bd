import assert from "node:assert/strict";
import { test } from "node:test";
import { findFaults, isAllowed } from "./supply-chain.ts";

const good = { version: "1.0.0", license: "MIT", integrity: "sha512-abc" };
const npmrc = "save-exact=true\nignore-scripts=true\n";

function faultsOf(entry: object, readLicence: () => string | undefined = () => undefined): string[] {
  return findFaults({ lock: { packages: { "": {}, "node_modules/x": { ...good, ...entry } } }, npmrc, readLicence });
}

test("a package with a known licence and a hash is fine, and so is one of another platform, of which nothing is known", () => {
  assert.deepEqual(faultsOf({}), []);
  assert.deepEqual(faultsOf({ license: undefined, integrity: undefined, optional: true }), []);
});

test("a licence that is not on the list is found, in the lock file or in what was installed", () => {
  assert.match(faultsOf({ license: "AGPL-3.0-only" }).join(), /AGPL/);
  assert.match(faultsOf({}, () => "SEE LICENSE IN EULA").join(), /EULA/);
  assert.match(faultsOf({ license: undefined }).join(), /says nothing/);
});

test("of licences to choose from one is enough, of licences that all hold every one counts", () => {
  assert.ok(isAllowed("(GPL-2.0-only OR MIT)") && isAllowed("Apache-2.0 AND MIT"));
  assert.ok(!isAllowed("MIT AND GPL-2.0-only") && !isAllowed("GPL-2.0-only"));
});

test("a package without a hash, one with a script, and scripts that are not switched off are found", () => {
  assert.match(faultsOf({ integrity: undefined }).join(), /sha512/);
  assert.match(faultsOf({ integrity: "sha1-abc" }).join(), /sha512/);
  assert.match(faultsOf({ hasInstallScript: true }).join(), /script/);
  assert.match(
    findFaults({ lock: { packages: {} }, npmrc: "", readLicence: () => undefined }).join(),
    /ignore-scripts/,
  );
});
