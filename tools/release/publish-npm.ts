// npm run release:publish -- FOLDER [npm flags]: publishes the npm tarballs of a folder, dependencies first. Versions that
// the registry already has are skipped, so that a release that failed halfway can be run again.

import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { resolve } from "node:path";
import { tarballName } from "./artifacts.ts";
import { npmPackages } from "./products.ts";

const [out = "", ...flags] = process.argv.slice(2);

for (const { manifest } of npmPackages()) {
  const [file = ""] = globSync(tarballName(manifest.name, "*"), { cwd: out });
  const version = file.slice(tarballName(manifest.name, "").length - ".tgz".length, -".tgz".length);
  if (version === "") throw new Error(`${out} has no tarball of ${manifest.name}`);
  if (isPublished(manifest.name, version)) console.log(`${manifest.name} ${version}: already published`);
  else {
    publish(resolve(out, file));
    console.log(`${manifest.name} ${version}: published`);
  }
}

/** Throws if the registry cannot be queried, because publishing would then fail later. */
function isPublished(name: string, version: string): boolean {
  const { stdout } = spawnSync("npm", ["view", `${name}@${version}`, "version", "--json", ...flags], {
    encoding: "utf8",
  });
  const answer = stdout.trim() === "" ? undefined : (JSON.parse(stdout) as string | { error: { code: string } });
  if (typeof answer === "object" && answer.error.code !== "E404") throw new Error(`npm view ${name}: ${stdout}`);
  return answer === version;
}

function publish(file: string): void {
  const { status } = spawnSync("npm", ["publish", file, ...flags], { stdio: ["ignore", "ignore", "inherit"] });
  if (status !== 0) throw new Error(`npm publish ${file} failed`);
}
