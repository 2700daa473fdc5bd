import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { isRunning } from "./is-running.ts";

// `.pennyblack/dev/` has the data that stays between two starts: the secrets, the keys of the development wallet, and the data of
// PostgreSQL. One dev server at a time uses it. Others use the same secrets, and their wallets and data are deleted.

/** Settings that must not change, because keys and encrypted columns depend on them. */
export type Secrets = Readonly<Record<string, string>>;

export interface SavedKeys {
  walletId: string;
  liveKey: string;
  testKey: string;
  managementKey: string;
}

export interface KeptData {
  /** Undefined if another dev server uses it. */
  folder: string | undefined;
  secrets: Secrets;
  /** Of the last start. */
  keys: SavedKeys | undefined;
  saveKeys: (keys: SavedKeys) => void;
  release: () => void;
}

export function openKeptData({ reset }: { reset: boolean }): KeptData {
  const folder = resolve(".pennyblack/dev");
  // PostgreSQL's account reaches its data through these folders when the user is root.
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  const processFile = join(folder, "pid");
  const isOurs = claim(processFile);
  const [secretsFile, keysFile] = [join(folder, "secrets.json"), join(folder, "keys.json")];
  if (isOurs && reset) for (const file of [secretsFile, keysFile]) rmSync(file, { force: true });
  return {
    folder: isOurs ? folder : undefined,
    secrets: readSecrets(secretsFile),
    keys: isOurs ? (readJson(keysFile) as SavedKeys | undefined) : undefined,
    saveKeys(keys) {
      if (isOurs) writeFileSync(keysFile, JSON.stringify(keys), { mode: 0o600 });
    },
    release() {
      if (isOurs) rmSync(processFile, { force: true });
    },
  };
}

/** Returns false if a dev server that is still running has claimed it. */
function claim(file: string): boolean {
  const owner = Number(readIfExists(file) ?? 0);
  if (owner > 0 && isRunning(owner)) return false;
  rmSync(file, { force: true });
  return writeNew(file, String(process.pid));
}

function readSecrets(file: string): Secrets {
  const made: Secrets = {
    PENNYBLACK_SECRET: randomBytes(32).toString("base64"),
    PENNYBLACK_KEY_PEPPERS: `1:${randomBytes(32).toString("base64")}`,
    PENNYBLACK_SIGNING_KEYS: randomBytes(32).toString("base64"),
    PENNYBLACK_OPERATORS: `dev:${randomBytes(24).toString("hex")}`,
  };
  if (writeNew(file, JSON.stringify(made))) return made;
  return (readJson(file) as Secrets | undefined) ?? made;
}

/** Returns false if the file exists. */
function writeNew(file: string, text: string): boolean {
  try {
    writeFileSync(file, text, { mode: 0o600, flag: "wx" });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

function readJson(file: string): unknown {
  const text = readIfExists(file);
  return text === undefined ? undefined : JSON.parse(text);
}

function readIfExists(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
