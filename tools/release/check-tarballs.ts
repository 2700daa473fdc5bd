import { execFileSync } from "node:child_process";
import { existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import { isAllowed } from "../supply-chain.ts";
import { tarballName } from "./artifacts.ts";
import { type Manifest, npmPackages, root } from "./products.ts";

/** Checks the contents of each npm tarball against the sources in a copy of the repository. */
export function tarballFaults(tree: string, out: string): string[] {
  return npmPackages(tree).flatMap(({ folder, manifest: { name, version } }) => {
    const file = tarballName(name, version);
    const scratch = mkdtempSync(join(tmpdir(), "pennyblack-tarball-"));
    try {
      execFileSync("tar", ["-xzf", join(out, file), "-C", scratch]);
      const faults = packageFaults(join(scratch, "package"), join(tree, folder), version);
      return faults.map((fault) => `${file}: ${fault}`);
    } finally {
      rmSync(scratch, { recursive: true });
    }
  });
}

/** Compares an unpacked package with the folder that it was packed from. */
export function packageFaults(packed: string, source: string, version: string): string[] {
  const manifest = JSON.parse(readFileSync(join(packed, "package.json"), "utf8")) as Manifest;
  return [
    ...fileFaults(packed, source),
    ...entryFaults(packed, manifest),
    ...manifestFaults(manifest, version),
    ...dependencyFaults(manifest, basename(source), version),
  ];
}

/** A tarball contains its manifest, its licence, the compiled sources without tests, and nothing else. */
function fileFaults(packed: string, source: string): string[] {
  const sources = globSync("src/**/*.ts", { cwd: source }).filter((file) => !file.endsWith(".test.ts"));
  const compiled = sources.map((file) => file.replace(/^src\/(.*)\.ts$/, "dist/$1.js"));
  const declarations = compiled.map((file) => file.replace(/\.js$/, ".d.ts"));
  const targets = globSync("targets/*.json", { cwd: source });
  const schemas = globSync("*.schema.json", { cwd: source });
  const required = ["package.json", "README.md", "LICENSE", ...compiled, ...targets, ...schemas];
  const files = readdirSync(packed, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(packed, join(entry.parentPath, entry.name)));
  return [
    ...required.filter((file) => !files.includes(file)).map((file) => `${file} is missing`),
    ...files
      .filter((file) => !required.includes(file) && !declarations.includes(file))
      .map((file) => `${file} does not belong in the package`),
  ];
}

function entryFaults(packed: string, { bin = {}, exports = {} }: Manifest): string[] {
  // Only our own tools use the condition for the sources.
  const exported = Object.values(exports).flatMap(({ types, default: path }) => [types ?? "", path ?? ""]);
  const missing = [...Object.values(bin), ...exported].filter((path) => path === "" || !existsSync(join(packed, path)));
  const notPrograms = Object.values(bin).filter(
    (path) => !missing.includes(path) && !readFileSync(join(packed, path), "utf8").startsWith("#!/usr/bin/env node\n"),
  );
  return [
    ...missing.map((path) => `package.json refers to "${path}", which is missing`),
    ...notPrograms.map((path) => `${path} does not start with #!/usr/bin/env node`),
  ];
}

function manifestFaults(manifest: Manifest, version: string): string[] {
  const { license, scripts, publishConfig } = manifest;
  return [
    ...(manifest.version === version ? [] : [`version ${manifest.version} instead of ${version}`]),
    ...(license === "Apache-2.0" ? [] : [`license ${license}`]),
    ...(scripts === undefined ? [] : ["package.json has scripts"]),
    ...(publishConfig?.access === "public" && publishConfig.provenance === true
      ? []
      : ["publishConfig does not request public access and provenance"]),
  ];
}

function dependencyFaults({ dependencies = {} }: Manifest, folder: string, version: string): string[] {
  return Object.entries(dependencies).flatMap(([name, range]) => {
    if (name.startsWith("@pennyblack/"))
      return range === version ? [] : [`depends on ${name} ${range}, not ${version}`];
    // npm installs another version than that of the root beside the package.
    const [path = ""] = [join(root, folder), root]
      .map((parent) => join(parent, "node_modules", name, "package.json"))
      .filter((file) => existsSync(file));
    const { license = "none" } = JSON.parse(readFileSync(path, "utf8")) as Manifest;
    return isAllowed(license) ? [] : [`depends on ${name}, whose license ${license} is not allowed`];
  });
}
