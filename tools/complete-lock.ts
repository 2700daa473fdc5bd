// Run `npm run lock:complete` after `npm install` when `npm run text` reports packages missing from a lock file.
//
// Some packages ship one optional package per platform. npm omits those that the current registry does not have, and then
// `npm ci` rejects the lock file on every platform. This script adds them by name, version and platform, without a hash,
// because the registry does not provide it. Each is installed on its own platform only.

import { globSync, readFileSync, writeFileSync } from "node:fs";

interface Entry {
  version?: string;
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
}

const systems = "aix android darwin freebsd linux netbsd openbsd openharmony sunos wasi win32".split(" ");
const architectures = ["arm", "arm64", "ia32", "loong64", "mips64el", "ppc64", "riscv64", "s390x", "wasm32", "x64"];

/** Optional dependencies of packages in the lock file that have no entry. */
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
    { version, ...(dev ? { dev } : {}), optional: true, ...parsePlatform(name) },
  ]);
  // In npm's order, so that the next `npm install` changes nothing.
  const packages = [...Object.entries(packagesOf(lock)), ...added].toSorted(([a], [b]) => a.localeCompare(b, "en"));
  return `${JSON.stringify({ ...lock, packages: Object.fromEntries(packages) }, null, 2)}\n`;
}

/** Reads the platform from a name such as `@oxlint/binding-linux-arm64-musl`. Throws if the name does not contain it. */
function parsePlatform(name: string): Pick<Entry, "os" | "cpu" | "libc"> {
  const words = name.split(/[/-]/);
  const os = systems.filter((system) => words.includes(system));
  const cpu = architectures.filter((architecture) => words.includes(architecture));
  if (os.length !== 1 || cpu.length !== 1) throw new Error(`cannot read the platform from the name ${name}`);
  const isMusl = words.some((word) => word.startsWith("musl"));
  const isGlibc = words.some((word) => word.startsWith("gnu"));
  return { cpu, ...(isMusl ? { libc: ["musl"] } : {}), ...(isGlibc ? { libc: ["glibc"] } : {}), os };
}

function packagesOf(lock: { packages?: Record<string, Entry> }): Record<string, Entry> {
  return lock.packages ?? {};
}

if (import.meta.main) {
  for (const file of globSync(["package-lock.json", "tools/on-demand/*/package-lock.json"])) {
    const before = readFileSync(file, "utf8");
    writeFileSync(file, completeLock(before));
    console.log(`${missingFromLock(before).length} packages added to ${file}`);
  }
}
