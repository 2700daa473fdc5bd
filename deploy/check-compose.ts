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

export interface ServicePrivileges {
  cap_drop?: string[];
  cap_add?: string[];
  security_opt?: string[];
}

/** Capabilities of images whose entry point starts as root and changes to its own user. */
const neededCapabilities: Record<string, string[]> = {
  postgres: ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"],
  valkey: ["SETGID", "SETUID"],
  searxng: ["CHOWN", "DAC_OVERRIDE", "SETGID", "SETUID"],
};

/** Asserts that no service has capabilities but those its entry point needs, and that none can gain privileges. */
export function assertFewPrivileges(services: Record<string, ServicePrivileges>): void {
  for (const [name, { cap_drop, cap_add, security_opt }] of Object.entries(services)) {
    assert.deepEqual([cap_drop, security_opt], [["ALL"], ["no-new-privileges:true"]], name);
    // The services of a cell are named like "eu1-postgres".
    assert.deepEqual(cap_add, neededCapabilities[name.split("-").at(-1) ?? ""], name);
  }
}
