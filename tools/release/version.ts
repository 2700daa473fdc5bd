// npm run release:version: raises the version everywhere, as the changesets require, and moves their notes to CHANGELOG.md.
// Without changesets it changes nothing. The result is a pull request; merging and tagging it starts the release.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installOnDemand } from "../on-demand/install-on-demand.ts";
import { releaseVersion, root } from "./products.ts";
import { readPendingRelease, releaseChangelog } from "./upgrade-page.ts";
import { versionFiles, withVersion } from "./versions.ts";

/** Applies the changesets in a copy of the repository. Returns the version, unchanged if there are none. */
export function applyChangesets(tree: string, date = new Date().toISOString().slice(0, 10)): string {
  const notes = readPendingRelease(tree);
  if (notes.changesets.length === 0) return releaseVersion(tree);
  run(join(installOnDemand("release"), "node_modules/.bin/changeset"), ["version"], tree);
  const version = releaseVersion(tree);
  const files = new Map(versionFiles.map((file) => [file, readFileSync(join(tree, file), "utf8")]));
  for (const [file, text] of withVersion(files, version)) writeFileSync(join(tree, file), text);
  writeFileSync(join(tree, "CHANGELOG.md"), releaseChangelog(notes.changelog, { ...notes, version, date }));
  run(process.execPath, ["server/src/generate.ts"], tree);
  run(process.execPath, ["tools/release/upgrade-page.ts"], tree);
  return version;
}

function run(program: string, args: string[], cwd: string): void {
  execFileSync(program, args, { cwd, stdio: ["ignore", "ignore", "inherit"], timeout: 120_000 });
}

if (import.meta.main) console.log(applyChangesets(root));
