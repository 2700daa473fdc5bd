import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createPrivateFile, readPrivateFile, writePrivateFile } from "../private-file.ts";

// New secrets go to files, one for each object. The file is created, empty, before the object, and then replaced with one that has
// the secret. An empty file of an object that exists therefore means that its secret was lost with a response or a crash.

export interface SecretFiles {
  /** "empty" if the secret was lost. */
  stateOf(name: string): "absent" | "empty" | "written";
  /** Creates an empty file, unless there is one. */
  reserve(name: string): void;
  /** Removes a reserved file that has no secret. */
  removeEmpty(name: string): void;
  /** Returns the path. */
  write(name: string, secret: string): string;
}

export function openSecretFiles(folder: string): SecretFiles {
  const pathOf = (name: string): string => join(folder, name);
  const stateOf: SecretFiles["stateOf"] = (name) => {
    const text = readPrivateFile(pathOf(name));
    if (text === undefined) return "absent";
    return text.trim() === "" ? "empty" : "written";
  };
  return {
    stateOf,
    reserve(name) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      if (stateOf(name) === "absent") createPrivateFile(pathOf(name), "");
    },
    removeEmpty(name) {
      if (stateOf(name) === "empty") rmSync(pathOf(name));
    },
    write(name, secret) {
      writePrivateFile(pathOf(name), `${secret}\n`);
      return pathOf(name);
    },
  };
}
