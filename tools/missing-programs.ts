import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** Names of programs with the Debian packages that have them. */
export type Programs = Readonly<Record<string, string>>;

/** The path of a program. Debian has some in a folder that only root has in its PATH. */
export function findProgram(name: string): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin"];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

/** The programs that are not installed, and how to install them. Undefined if nothing is missing. */
export function describeMissing(
  programs: Programs,
  isInstalled = (name: string) => findProgram(name) !== undefined,
): string | undefined {
  const missing = Object.entries(programs).filter(([name]) => !isInstalled(name));
  if (missing.length === 0) return undefined;
  const packages = new Set(missing.map(([, debianPackage]) => debianPackage));
  return `Not installed: ${missing.map(([name]) => name).join(", ")}. On Debian:\n  apt-get install ${[...packages].join(" ")}`;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
