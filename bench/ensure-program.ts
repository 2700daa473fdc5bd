import { execFileSync, spawnSync } from "node:child_process";

/** Returns the path of a program. Installs it if missing, when running as root on Debian. */
export function ensureProgram({ name, debianPackage }: { name: string; debianPackage: string }): string {
  const found = findProgram(name);
  if (found !== undefined) return found;
  if (process.getuid?.() !== 0) throw new Error(`${name} not found. Install it with: apt-get install ${debianPackage}`);
  console.error(`${name} not found, installing ${debianPackage}`);
  const options = { stdio: "ignore", env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } } as const;
  execFileSync("apt-get", ["update"], options);
  execFileSync("apt-get", ["install", "-y", "--no-install-recommends", debianPackage], options);
  const installed = findProgram(name);
  if (installed === undefined) throw new Error(`${name} not found after installing ${debianPackage}`);
  return installed;
}

function findProgram(name: string): string | undefined {
  const { status, stdout } = spawnSync("sh", ["-c", 'PATH="$PATH:/usr/sbin:/sbin"; command -v "$1"', "sh", name], {
    encoding: "utf8",
  });
  return status === 0 ? stdout.trim() : undefined;
}
