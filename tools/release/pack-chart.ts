import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chartName, releaseVersion } from "./products.ts";

/** Packs the chart as `helm package` does: one folder with the chart's name in a gzipped tar archive. */
export function packChart(tree: string, out: string): void {
  mkdirSync(out, { recursive: true });
  const stage = mkdtempSync(join(tmpdir(), "pennyblack-chart-"));
  try {
    cpSync(join(tree, "deploy/helm/pennyblack"), join(stage, chartName), { recursive: true });
    cpSync(join(tree, "LICENSE"), join(stage, chartName, "LICENSE"));
    const archive = join(out, `${chartName}-chart-${releaseVersion(tree)}.tgz`);
    // Fixed order, times and owners, so that the same files make the same archive.
    const fixed = "--sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX".split(" ");
    const gzip = ["--use-compress-program", "gzip -n"];
    execFileSync("tar", ["--create", ...gzip, "--file", archive, ...fixed, "--directory", stage, chartName]);
  } finally {
    rmSync(stage, { recursive: true });
  }
}
