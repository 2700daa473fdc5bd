import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** The fields of a package.json that a release uses. */
export interface Manifest {
  name: string;
  version: string;
  private?: boolean;
  license?: string;
  workspaces?: string[];
  scripts?: Record<string, string>;
  bin?: Record<string, string>;
  exports?: Record<string, Record<string, string>>;
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  publishConfig?: { access?: string; provenance?: boolean };
}

export interface NpmPackage {
  folder: string;
  manifest: Manifest;
}

export const root = resolve(import.meta.dirname, "../..");

/** The names under which a release publishes everything that is not an npm package. */
export const pythonName = "pennyblack";
export const imageName = "pennyblack";
export const chartName = "pennyblack";

/** The published npm packages: every workspace that is not private, dependencies first. */
export function npmPackages(tree = root): NpmPackage[] {
  return workspaces(tree).filter(({ manifest }) => manifest.private !== true);
}

/** The version of the server, which is the version of everything in a release. */
export function releaseVersion(tree = root): string {
  return readManifest(tree, "server").version;
}

function workspaces(tree: string): NpmPackage[] {
  const folders = readManifest(tree, ".").workspaces ?? [];
  return folders.map((folder) => ({ folder, manifest: readManifest(tree, folder) }));
}

function readManifest(tree: string, folder: string): Manifest {
  return JSON.parse(readFileSync(join(tree, folder, "package.json"), "utf8")) as Manifest;
}
