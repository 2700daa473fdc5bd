import { closeSync, fstatSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { UsageError } from "./usage-error.ts";

/** The text of a file that holds secrets, or undefined if there is none. Refuses one that others can read. */
export function readPrivateFile(path: string): string | undefined {
  const file = open(path);
  if (file === undefined) return undefined;
  try {
    // Of the opened file, not of the path, which could be another one by now. Windows has no such bits.
    const isOpenToOthers = process.platform !== "win32" && (fstatSync(file).mode & 0o077) !== 0;
    if (isOpenToOthers) throw new UsageError(`Others can read ${path}. Make it yours alone: chmod 600 '${path}'`);
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
}

/** Whole or not at all, and never readable by others, not even for a moment. */
export function writePrivateFile(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, text, { mode: 0o600, flag: "wx" });
  renameSync(draft, path);
}

/** Fails if there is such a file already. */
export function createPrivateFile(path: string, text: string): void {
  writeFileSync(path, text, { mode: 0o600, flag: "wx" });
}

function open(path: string): number | undefined {
  try {
    return openSync(path, "r");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw new UsageError(`${path} cannot be read (${code}).`);
  }
}
