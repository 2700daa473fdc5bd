import { closeSync, fstatSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { UsageError } from "./usage-error.ts";

/** Reads a file with secrets. Returns undefined if it does not exist; throws if other users can access it. */
export function readPrivateFile(path: string): string | undefined {
  const file = open(path);
  if (file === undefined) return undefined;
  try {
    // Check the open file, because the path could have been replaced. Windows has no permission bits.
    const isShared = process.platform !== "win32" && (fstatSync(file).mode & 0o077) !== 0;
    if (isShared) throw new UsageError(`Other users can access ${path}. Fix with: chmod 600 '${path}'`);
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
}

/** Writes atomically. Other users can never read the file. */
export function writePrivateFile(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const temporaryPath = `${path}.${process.pid}`;
  writeFileSync(temporaryPath, text, { mode: 0o600, flag: "wx" });
  renameSync(temporaryPath, path);
}

/** Fails if the file exists. */
export function createPrivateFile(path: string, text: string): void {
  writeFileSync(path, text, { mode: 0o600, flag: "wx" });
}

function open(path: string): number | undefined {
  try {
    return openSync(path, "r");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw new UsageError(`Could not read ${path} (${code}).`);
  }
}
