import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, test } from "node:test";
import { constants } from "../../server/src/config/constants.ts";

// The units of docs/install.md. systemd itself is not started: systemd-analyze checks the files.

const root = resolve(import.meta.dirname, "../..");
const names = readdirSync(import.meta.dirname).filter((name) => name.endsWith(".service"));
const skip = spawnSync("systemd-analyze", ["--version"]).error !== undefined && "systemd is not installed";

const folder = mkdtempSync(join(tmpdir(), "pennyblack-units-"));
after(() => rmSync(folder, { recursive: true }));
for (const name of names) {
  const text = readFileSync(join(import.meta.dirname, name), "utf8");
  // systemd-analyze also checks that the program exists, which may be elsewhere on this machine.
  writeFileSync(join(folder, name), text.replace("ExecStart=/usr/local/bin/node", `ExecStart=${process.execPath}`));
}

test("systemd accepts the units without a warning", { skip }, () => {
  const args = ["verify", "--man=no", ...names.map((name) => join(folder, name))];
  const { status, stderr } = spawnSync("systemd-analyze", args, { encoding: "utf8" });
  assert.deepEqual([names.length, status, stderr], [3, 0, ""]);
});

test("the units have an exposure level of at most 2.0", { skip }, () => {
  for (const name of names) {
    const args = ["security", "--no-pager", "--offline=true", "--threshold=20", join(folder, name)];
    const { status, stdout } = spawnSync("systemd-analyze", args, { encoding: "utf8" });
    assert.equal(status, 0, `${name}: ${stdout.trimEnd().split("\n").at(-1)}`);
  }
});

test("no unit writes a core dump, which would contain secrets and queries", () => {
  for (const name of names) assert.match(readFileSync(join(import.meta.dirname, name), "utf8"), /^LimitCORE=0$/m, name);
});

test("each unit runs an existing script, and waits longer than a server needs to stop", () => {
  for (const name of names) {
    const text = readFileSync(join(import.meta.dirname, name), "utf8");
    const [, script = ""] = /^ExecStart=\/usr\/local\/bin\/node (\S+)/m.exec(text) ?? [];
    assert.ok(existsSync(join(root, script)), `${name}: ${script}`);
  }
  const server = readFileSync(join(import.meta.dirname, "pennyblack-server.service"), "utf8");
  const [, seconds] = /^TimeoutStopSec=(\d+)$/m.exec(server) ?? [];
  assert.ok(Number(seconds) * 1_000 >= constants.drainMs + 20_000, `${seconds} s`);
});
