import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** Mounts a small disk in memory. Returns why it cannot, if it cannot. */
export function mountDisk(folder: string, mib: number): string | undefined {
  if (process.getuid?.() !== 0) return "mounting a small disk requires root";
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${mib}m`, "tmpfs", folder], { stdio: "ignore" });
    return undefined;
  } catch {
    return "a small disk cannot be mounted on this machine";
  }
}

export function unmountDisk(folder: string): void {
  const isMounted = readFileSync("/proc/mounts", "utf8").includes(` ${folder} `);
  if (isMounted) execFileSync("umount", ["--lazy", folder], { stdio: "ignore" });
}
