import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { test } from "node:test";
import { buildLevels, emptyRoot, hashLeaf, pathOf, rootOf } from "./merkle.ts";

// The test vectors of Certificate Transparency (RFC 6962), as published in its reference implementation.
const inputs = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"];
const roots = [
  "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
  "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
  "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
  "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
  "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
  "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
  "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
  "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
];
const leaves = inputs.map((input) => hashLeaf(Buffer.from(input, "hex")));

test("trees have the published roots", () => {
  assert.equal(emptyRoot.toString("hex"), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  assert.equal(rootOf(buildLevels([])), emptyRoot);
  for (const [index, root] of roots.entries()) {
    assert.equal(rootOf(buildLevels(leaves.slice(0, index + 1))).toString("hex"), root);
  }
});

/** RFC 9162, section 2.1.3.2. Undefined if the path has another length than the tree. */
function climb(leaf: Buffer, path: readonly Buffer[], place: { index: number; size: number }): Buffer | undefined {
  let [at, last, result] = [place.index, place.size - 1, leaf];
  for (const sibling of path) {
    const isRight = at % 2 === 1 || at === last;
    const pair = isRight ? [sibling, result] : [result, sibling];
    result = hash("sha256", Buffer.concat([Buffer.of(1), ...pair]), "buffer");
    if (isRight) while (at % 2 === 0 && at !== 0) [at, last] = [at >> 1, last >> 1];
    [at, last] = [at >> 1, last >> 1];
  }
  return last === 0 ? result : undefined;
}

test("the path of each leaf leads to the root, in trees of every size up to 40", () => {
  for (let size = 1; size <= 40; size += 1) {
    const own = Array.from({ length: size }, (_, index) => hashLeaf(Buffer.of(index)));
    const levels = buildLevels(own);
    for (const [index, leaf] of own.entries()) {
      const root = climb(leaf, pathOf(levels, index), { index, size });
      assert.deepEqual(root, rootOf(levels), `leaf ${index} of ${size}`);
    }
  }
});
