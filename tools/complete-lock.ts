// Run as `npm run lock:complete` after `npm install`, when `npm run text` says that the lock file lacks packages.
//
// Some packages come as one small package for each platform. npm leaves those out of the lock file that the registry
// in use does not carry, and then `npm ci` refuses the lock file on every platform. This adds them by name, version and
// platform. They carry no hash, because that registry cannot tell it; each is installed on its own platform only.

import { readFileSync, writeFileSync } from "node:fs";

interface Entry {
  version?: string;
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
}

const systems = [
  "aix",
  "android",
  "darwin",
  "freebsd",
  "linux",
  "netbsd",
  "openbsd",
  "openharmony",
  "sunos",
  "wasi",
  "win32",
];
const processors = ["arm", "arm64", "ia32", "loong64", "mips64el", "ppc64", "riscv64", "s390x", "wasm32", "x64"];

/** The optional packages that some package in the lock file asks for and that have no entry in it. */
export function missingFromLock(lockText: string): { name: string; version: string; dev: boolean }[] {
  const packages = packagesOf(JSON.parse(lockText) as { packages?: Record<string, Entry> });
  return Object.entries(packages).flatMap(([path, entry]) =>
    Object.entries(entry.optionalDependencies ?? {})
      .filter(([name]) => !(`node_modules/${name}` in packages) && !(`${path}/node_modules/${name}` in packages))
      .map(([name, version]) => ({ name, version, dev: entry.dev === true })),
  );
}

export function completeLock(lockText: string): string {
  const lock = JSON.parse(lockText) as { packages?: Record<string, Entry> };
  const added = missingFromLock(lockText).map(({ name, version, dev }): [string, Entry] => [
    `node_modules/${name}`,
    { version, ...(dev ? { dev } : {}), optional: true, ...platformOf(name) },
  ]);
  // In npm's own order, so that the next `npm install` changes nothing.
  const packages = [...Object.entries(packagesOf(lock)), ...added].toSorted(([a], [b]) => a.localeCompare(b, "en"));
  return `${JSON.stringify({ ...lock, packages: Object.fromEntries(packages) }, null, 2)}\n`;
}

/** What `@oxlint/binding-linux-arm64-musl` says about itself. A name that says nothing is for a person to look at. */
function platformOf(name: string): Pick<Entry, "os" | "cpu" | "libc"> {
  const words = name.split(/[/-]/);
  const os = systems.filter((system) => words.includes(system));
  const cpu = processors.filter((processor) => words.includes(processor));
  if (os.length !== 1 || cpu.length !== 1) throw new Error(`${name} does not say for which platform it is`);
  const isMusl = words.some((word) => word.startsWith("musl"));
  const isGlibc = words.some((word) => word.startsWith("gnu"));
  return { cpu, ...(isMusl ? { libc: ["musl"] } : {}), ...(isGlibc ? { libc: ["glibc"] } : {}), os };
}

function packagesOf(lock: { packages?: Record<string, Entry> }): Record<string, Entry> {
  return lock.packages ?? {};
}

if (import.meta.main) {
  const before = readFileSync("package-lock.json", "utf8");
  writeFileSync("package-lock.json", completeLock(before));
  console.log(`${missingFromLock(before).length} packages added to package-lock.json`);
}
