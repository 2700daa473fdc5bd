import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { npmPackages, releaseVersion } from "./products.ts";

/** Writes one CycloneDX document for all npm packages and their dependencies, from the lock file. */
export function writeNpmSbom(tree: string, out: string): void {
  const workspaces = npmPackages(tree).map(({ folder }) => `--workspace=${folder}`);
  const flags = ["--package-lock-only", "--sbom-format=cyclonedx", "--omit=dev", "--omit=peer"];
  const sbom = execFileSync("npm", ["sbom", ...flags, ...workspaces], { cwd: tree, encoding: "utf8" });
  const document = JSON.parse(sbom) as { metadata: { component: { name: string } } };
  // npm uses the name of the folder.
  document.metadata.component.name = "pennyblack";
  writeFileSync(
    join(out, `npm-packages-${releaseVersion(tree)}.cdx.json`),
    `${JSON.stringify(document, undefined, 2)}\n`,
  );
}
