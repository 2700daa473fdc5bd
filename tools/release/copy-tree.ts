import { execFileSync } from "node:child_process";
import { cpSync, existsSync, lstatSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { npmPackages, root } from "./products.ts";

/**
 * Copies the files that git tracks, so that a rehearsal changes nothing in the work tree. The folder must be below the
 * repository, where the installed packages are found.
 */
export function copyTree(to: string): void {
  rmSync(to, { recursive: true, force: true });
  // Without untracked files: a release does not have them, and other programs create and delete some at any time.
  const list = ["-c", "safe.directory=*", "ls-files", "-z", "--cached"];
  const files = execFileSync("git", list, { cwd: root, encoding: "utf8", maxBuffer: 1 << 26 }).split("\0");
  // Git also lists files whose deletion is not committed yet.
  for (const file of files.filter((name) => name !== "" && lstatSync(join(root, name), { throwIfNoEntry: false }))) {
    mkdirSync(dirname(join(to, file)), { recursive: true });
    cpSync(join(root, file), join(to, file));
  }
  linkPackages(to);
}

/** Makes our packages import each other from the copy, and lets each find the dependencies that npm installed beside it. */
export function linkPackages(tree: string): void {
  mkdirSync(join(tree, "node_modules/@pennyblack"), { recursive: true });
  symlinkSync(join(tree, "sdk"), join(tree, "node_modules/@pennyblack/sdk"));
  for (const { folder } of npmPackages(root)) {
    const own = join(root, folder, "node_modules");
    if (existsSync(own) && existsSync(join(tree, folder))) symlinkSync(own, join(tree, folder, "node_modules"));
  }
}
