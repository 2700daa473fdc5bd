import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chartName, imageName, npmPackages, pythonName, releaseVersion } from "./products.ts";

interface Artifact {
  file: string;
  name: string;
  kind: "npm package" | "Python wheel" | "Python source" | "chart" | "image" | "SBOM";
}

const sums = "SHA256SUMS";

/** The file name that `npm pack` chooses. */
export function tarballName(name: string, version: string): string {
  return `${name.replace("@", "").replace("/", "-")}-${version}.tgz`;
}

/** Reports expected files that are missing and other files. `without` names the kinds that were not built. */
export function artifactFaults(tree: string, out: string, without: readonly string[] = []): string[] {
  const expected = expectedArtifacts(tree).filter(
    ({ name, kind }) => !without.includes(kind) && !without.includes(name),
  );
  const names = new Set([...expected.map(({ file }) => file), sums]);
  const found = readdirSync(out);
  return [
    ...[...names].filter((file) => file !== sums && !found.includes(file)).map((file) => `${file}: missing`),
    ...found.filter((file) => !names.has(file)).map((file) => `${file}: not part of a release`),
  ];
}

/** Writes the checksums in the format of `sha256sum --check`. */
export function writeChecksums(out: string): void {
  const lines = readdirSync(out)
    .filter((file) => file !== sums)
    .toSorted()
    .map(
      (file) =>
        `${createHash("sha256")
          .update(readFileSync(join(out, file)))
          .digest("hex")}  ${file}\n`,
    );
  writeFileSync(join(out, sums), lines.join(""));
}

/** A table of the files with their kind, version and size. */
export function listArtifacts(tree: string, out: string): string {
  const version = releaseVersion(tree);
  const rows = expectedArtifacts(tree).flatMap(({ file, name, kind }) => {
    const size = statSync(join(out, file), { throwIfNoEntry: false })?.size;
    return size === undefined ? [] : [[file, kind, name, version, formatSize(size)]];
  });
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")).join("\n");
}

/** Every file of a release. */
function expectedArtifacts(tree: string): Artifact[] {
  const version = releaseVersion(tree);
  const packages = npmPackages(tree).map(
    ({ manifest: { name } }): Artifact => ({ file: tarballName(name, version), name, kind: "npm package" }),
  );
  return [
    ...packages,
    { file: `${pythonName}-${version}-py3-none-any.whl`, name: pythonName, kind: "Python wheel" },
    { file: `${pythonName}-${version}.tar.gz`, name: pythonName, kind: "Python source" },
    { file: `${chartName}-chart-${version}.tgz`, name: chartName, kind: "chart" },
    { file: `${imageName}-image-${version}.tar`, name: imageName, kind: "image" },
    { file: `npm-packages-${version}.cdx.json`, name: "npm packages", kind: "SBOM" },
    { file: `image-${version}.cdx.json`, name: "image", kind: "SBOM" },
  ];
}

function formatSize(bytes: number): string {
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
