// npm run release:dry: rehearses the next release without publishing anything. Applies the changesets in a copy of the
// repository, builds every file of the release there, lists the files, and installs and uses each package. Requires PostgreSQL
// and Redis like the tests. The image requires root, podman, buildah, runc and mmdebstrap.
//
//   npm run release:dry -- --no-image     skips the image, which takes minutes and downloads Debian and npm packages

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { imagePrograms } from "../../deploy/image/build-image.ts";
import { describeMissing, findProgram } from "../missing-programs.ts";
import { artifactFaults, listArtifacts, writeChecksums } from "./artifacts.ts";
import { buildPackages } from "./build.ts";
import { copyTree } from "./copy-tree.ts";
import { root } from "./products.ts";
import { saveImage } from "./save-image.ts";
import { applyChangesets } from "./version.ts";

const tree = join(root, ".pennyblack/release/tree");
const out = join(root, ".pennyblack/release/out");

/** `python3-` and a name is a Python module. */
const packagePrograms = {
  git: "git",
  tar: "tar",
  "python3-setuptools": "python3-setuptools",
  "python3-wheel": "python3-wheel",
};
const canBuildImage = process.getuid?.() === 0 && !process.argv.includes("--no-image");
const missing = describeMissing({ ...packagePrograms, ...(canBuildImage && imagePrograms) }, isInstalled);
if (missing !== undefined) {
  console.error(canBuildImage ? `${missing}\nThe image is optional: npm run release:dry -- --no-image` : missing);
  process.exit(2);
}

await step("copy the repository", () => copyTree(tree));
await step("apply the changesets", () => applyChangesets(tree));
await step("build the packages", () => buildPackages(tree, out));
if (canBuildImage) await step("build the image", () => saveImage(tree, out));
else console.log("image not built: requires root, and no --no-image");
writeChecksums(out);
const faults = artifactFaults(tree, out, canBuildImage ? [] : ["image"]);
for (const fault of faults) console.error(fault);
console.log(`\n${listArtifacts(tree, out)}\n\nFiles and SHA256SUMS: ${out}\n`);
const status = await step("install and use the packages", usePackages);
process.exitCode = faults.length === 0 && status === 0 ? 0 : 1;

function isInstalled(name: string): boolean {
  const module = /^python3-(\w+)$/.exec(name)?.[1];
  if (module === undefined) return findProgram(name) !== undefined;
  return spawnSync("/usr/bin/python3", ["-c", `import ${module}`]).status === 0;
}

function usePackages(): number {
  const env = { ...process.env, PENNYBLACK_RELEASE: out };
  const args = ["--test", "server/test/stories/release.long.test.ts"];
  return spawnSync(process.execPath, args, { cwd: root, stdio: "inherit", env, timeout: 300_000 }).status ?? 1;
}

async function step<Result>(name: string, action: () => Result | Promise<Result>): Promise<Result> {
  const startedMs = performance.now();
  const result = await action();
  console.log(`[${((performance.now() - startedMs) / 1_000).toFixed(1).padStart(6)} s] ${name}`);
  return result;
}
