// npm run release:build -- FOLDER: builds the npm tarballs, the Python archives, the chart and the npm SBOM of this version,
// and checks them. The image is built separately, once for each architecture.

import { mkdirSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import { artifactFaults, listArtifacts, writeChecksums } from "./artifacts.ts";
import { tarballFaults } from "./check-tarballs.ts";
import { packChart } from "./pack-chart.ts";
import { packNpm } from "./pack-npm.ts";
import { packPython } from "./pack-python.ts";
import { root } from "./products.ts";
import { writeNpmSbom } from "./write-npm-sbom.ts";

/** Replaces the folder `out`. Throws if a package has a fault. */
export function buildPackages(tree: string, out: string): void {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  packNpm(tree, out);
  packPython(tree, out);
  packChart(tree, out);
  writeNpmSbom(tree, out);
  const faults = [...artifactFaults(tree, out, ["image"]), ...tarballFaults(tree, out)];
  if (faults.length > 0) throw new Error(`The packages have faults:\n${faults.join("\n")}`);
  writeChecksums(out);
}

if (import.meta.main) {
  const [out = ".pennyblack/release/out"] = process.argv.slice(2);
  buildPackages(root, resolve(out));
  console.log(listArtifacts(root, resolve(out)));
}
