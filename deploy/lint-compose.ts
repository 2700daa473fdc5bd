import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { installOnDemand } from "../tools/on-demand/install-on-demand.ts";

/** Asserts that compose.yaml in this folder is valid. */
export function assertValidCompose(folder: string): void {
  // Ordering rules, and quotes, which Biome formats.
  const styleRules = [
    "service-keys-order",
    "services-alphabetical-order",
    "top-level-properties-order",
    "require-quotes-in-ports",
  ];
  const dclint = join(installOnDemand("checkers"), "node_modules/.bin/dclint");
  const args = ["compose.yaml", "--max-warnings=0", ...styleRules.map((rule) => `--disable-rule=${rule}`)];
  const { status, stdout, stderr } = spawnSync(dclint, args, { cwd: folder, encoding: "utf8" });
  assert.equal(status, 0, `${stdout}${stderr}`);
}
