// Tools that only some checks and tests need are not part of `npm install`. Each group in this folder has its own
// package.json and lock file. The first command that needs a group installs it into .pennyblack/tools, where npm verifies
// every package against the hashes in the lock file.
//
//   node tools/on-demand/install-on-demand.ts checkers                 installs a group
//   node tools/on-demand/install-on-demand.ts checkers oxlint --fix    runs one of its programs

import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { basename, delimiter, join } from "node:path";

const cache = join(import.meta.dirname, "../../.pennyblack/tools");
const files = ["package.json", "package-lock.json"];

/** Returns the folder that contains the node_modules of the group, installed once for each state of its lock file. */
export function installOnDemand(group: string): string {
  const texts = files.map((file) => readFileSync(join(import.meta.dirname, group, file)));
  const hash = createHash("sha256").update(Buffer.concat(texts)).digest("hex");
  const folder = join(cache, `${group}-${hash.slice(0, 16)}`);
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  const stage = mkdtempSync(join(cache, "installing-"));
  try {
    for (const file of files) copyFileSync(join(import.meta.dirname, group, file), join(stage, file));
    const flags = "--include=dev --ignore-scripts --no-audit --no-fund --loglevel=error".split(" ");
    execFileSync("npm", ["ci", ...flags], { cwd: stage, stdio: ["ignore", "ignore", "inherit"] });
    const others = globSync(join(cache, `${group}-*`)).filter((other) => other !== folder);
    for (const other of others) rmSync(other, { recursive: true, force: true });
    renameSync(stage, folder);
  } catch (error) {
    // Another process may have installed the same group in the meantime.
    if (!existsSync(folder)) throw error;
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
  return folder;
}

function run(group: string, program: string, args: string[]): number {
  const bin = join(installOnDemand(group), "node_modules/.bin");
  // Programs of the group find each other by PATH, such as oxlint its type-aware half.
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env["PATH"] ?? ""}` };
  const { status, error } = spawnSync(join(bin, program), args, { stdio: "inherit", env });
  if (error) console.error(`${basename(program)}: ${error.message}`);
  return status ?? 1;
}

if (import.meta.main) {
  const [group = "", program, ...args] = process.argv.slice(2);
  if (program === undefined) console.log(installOnDemand(group));
  else process.exitCode = run(group, program, args);
}
