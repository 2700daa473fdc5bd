import { execFileSync, spawnSync } from "node:child_process";

/** The path of a program; as root on Debian it is installed if it is missing. */
export function ensureProgram({ name, debianPackage }: { name: string; debianPackage: string }): string {
  const found = findProgram(name);
  if (found !== undefined) return found;
  if (process.getuid?.() !== 0) throw new Error(`${name} is missing. Install it: apt-get install ${debianPackage}`);
  console.error(`${name} is missing; installing Debian's ${debianPackage}`);
  const options = { stdio: "ignore", env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } } as const;
  execFileSync("apt-get", ["update"], options);
  execFileSync("apt-get", ["install", "-y", "--no-install-recommends", debianPackage], options);
  const installed = findProgram(name);
  if (installed === undefined) throw new Error(`${debianPackage} was installed and there is still no ${name}`);
  return installed;
}

function findProgram(name: string): string | undefined {
  const { status, stdout } = spawnSync("sh", ["-c", 'PATH="$PATH:/usr/sbin:/sbin"; command -v "$1"', "sh", name], {
    encoding: "utf8",
  });
  return status === 0 ? stdout.trim() : undefined;
}
