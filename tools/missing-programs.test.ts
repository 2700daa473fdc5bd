import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { describeMissing } from "./missing-programs.ts";

const root = join(import.meta.dirname, "..");

test("names the missing programs and their packages, each once", () => {
  const programs = { node: "nodejs", "no-such-a": "package-one", "no-such-b": "package-one" };
  const expected = "Not installed: no-such-a, no-such-b. On Debian:\n  apt-get install package-one";
  assert.equal(describeMissing(programs), expected);
  assert.equal(describeMissing({ node: "nodejs" }), undefined);
});

for (const [command, ...args] of [
  ["server/test/faults/chaos/chaos.ts"],
  ["bench/bench.ts", "--quick"],
  ["tools/release/dry-run.ts", "--no-image"],
] as const) {
  test(`${command} lists missing programs and starts nothing`, () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, command), ...args], {
      env: { PATH: "/nowhere" },
      encoding: "utf8",
    });
    assert.deepEqual([status, stdout], [2, ""], stderr);
    assert.match(stderr, /^Not installed: \S.*\. On Debian:\n {2}apt-get install \S.*\n$/);
  });
}
