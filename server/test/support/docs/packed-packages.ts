import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { linkPackages } from "../../../../tools/release/copy-tree.ts";
import { packNpm } from "../../../../tools/release/pack-npm.ts";

export type Package = "sdk" | "cli" | "mcp" | "ai-sdk" | "overspend";

export interface Installed {
  /** A folder with node_modules as `npm install` would leave it. */
  folder: string;
  /** The packed manifest of each package. */
  manifests: Record<Package, Manifest>;
  /** The path of a program that a package installs. */
  bin(name: string): string;
  remove(): void;
}

interface Manifest {
  name: string;
  version: string;
  license?: string;
  keywords?: string[];
  homepage?: string;
  bugs?: unknown;
  repository?: { directory?: string };
  publishConfig?: unknown;
  bin?: Record<string, string>;
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

const root = resolve(import.meta.dirname, "../../../..");
const packages: readonly Package[] = ["sdk", "cli", "mcp", "ai-sdk", "overspend"];

/**
 * Installs the packages from their packed files in a folder outside the repository, with links to the dependencies
 * that they declare and no others. npm itself would need a registry.
 */
export function installPacked(): Installed {
  const packed = pack();
  const folder = mkdtempSync(join(tmpdir(), "pennyblack-packed-"));
  const manifests = Object.fromEntries(packages.map((kind) => [kind, unpack(folder, packed, kind)]));
  const dependencies = Object.fromEntries(Object.values(manifests).map(({ name, version }) => [name, version]));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module", dependencies }));
  return {
    folder,
    manifests: manifests as Record<Package, Manifest>,
    bin: (name) => join(folder, "node_modules/.bin", name),
    remove: () => rmSync(folder, { recursive: true }),
  };
}

/** The folder of the packed files. The first test file that needs it builds it, once per state of the sources. */
export function pack(): string {
  const sources = globSync([...packages.map((kind) => `${kind}/**/*`), "tsconfig.json", "package-lock.json"], {
    cwd: root,
    exclude: ["**/node_modules/**", "**/dist/**", "**/test/**", "**/*.test.ts"],
    withFileTypes: true,
  });
  const hash = createHash("sha256");
  for (const file of sources.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name))) {
    hash.update(file).update(readFileSync(file));
  }
  const packed = join(root, ".pennyblack/packed", hash.digest("hex").slice(0, 16));
  if (existsSync(packed)) return packed;
  mkdirSync(dirname(packed), { recursive: true });
  for (const old of globSync(join(dirname(packed), "*"))) {
    if (!basename(old).startsWith("building-")) rmSync(old, { recursive: true, force: true });
  }
  const stage = mkdtempSync(join(dirname(packed), "building-"));
  build(stage);
  try {
    renameSync(join(stage, "packed"), packed);
  } catch (error) {
    // Another test file has built the same packages in the meantime.
    if (!existsSync(packed)) throw error;
  }
  rmSync(stage, { recursive: true });
  return packed;
}

/** Builds in a copy, so that no `dist` of the repository is used or created. */
function build(stage: string): void {
  cpSync(join(root, "tsconfig.json"), join(stage, "tsconfig.json"));
  for (const kind of packages) {
    cpSync(join(root, kind), join(stage, kind), {
      recursive: true,
      filter: (path) => !/\/(?:dist|node_modules)$/.test(path),
    });
  }
  linkPackages(stage);
  packNpm(stage, join(stage, "packed"));
}

function unpack(folder: string, packed: string, kind: Package): Manifest {
  const file = globSync(`pennyblack-${kind}-*.tgz`, { cwd: packed })[0] ?? "";
  const home = join(folder, "node_modules", kind === "overspend" ? "pennyblack-overspend" : `@pennyblack/${kind}`);
  mkdirSync(home, { recursive: true });
  run("tar", ["-xzf", join(packed, file), "-C", home, "--strip-components=1"], folder);
  const manifest = JSON.parse(readFileSync(join(home, "package.json"), "utf8")) as Manifest;
  for (const name of Object.keys(manifest.dependencies ?? {})) linkDependency(home, kind, name);
  // npm installs peer dependencies beside the package.
  for (const name of Object.keys(manifest.peerDependencies ?? {})) linkDependency(folder, kind, name);
  for (const [name, path] of Object.entries(manifest.bin ?? {})) {
    mkdirSync(join(folder, "node_modules/.bin"), { recursive: true });
    chmodSync(join(home, path), 0o755);
    symlinkSync(join(home, path), join(folder, "node_modules/.bin", name));
  }
  return manifest;
}

function linkDependency(home: string, kind: Package, name: string): void {
  if (name.startsWith("@pennyblack/")) return;
  const target = [join(root, kind, "node_modules", name), join(root, "node_modules", name)].find((path) =>
    existsSync(path),
  );
  if (target === undefined) throw new Error(`${kind} needs ${name}, which is not installed.`);
  const link = join(home, "node_modules", name);
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(target, link);
}

function run(program: string, words: string[], cwd: string): void {
  execFileSync(program, words, { cwd, stdio: ["ignore", "inherit", "inherit"] });
}
