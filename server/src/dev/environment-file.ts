import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { isRunning } from "./is-running.ts";

// `npm run admin` reads this file, so that it works with the dev server in another terminal. Each dev server has its own:
// the first one .pennyblack/dev.env, the default, and the others .pennyblack/dev-<port>.env.

export interface EnvironmentFile {
  /** Relative to the working directory, which npm sets to the repository root. */
  path: string;
  isDefault: boolean;
  remove: () => void;
}

const defaultFile = resolve(".pennyblack/dev.env");

export function writeEnvironmentFile(environment: Readonly<Record<string, string>>): EnvironmentFile {
  const lines = Object.entries(environment).map(([name, value]) => `${name}=${quote(value)}`);
  const text = `# Written by dev server ${process.pid}. Removed when it stops.\n${lines.join("\n")}\n`;
  mkdirSync(dirname(defaultFile), { recursive: true, mode: 0o700 });
  const isDefault = tryWrite(defaultFile, text);
  const file = isDefault ? defaultFile : resolve(`.pennyblack/dev-${environment["PORT"]}.env`);
  if (!isDefault) {
    // Only one process can listen on the port, so an existing file is left over.
    rmSync(file, { force: true });
    writeFileSync(file, text, { mode: 0o600 });
  }
  return {
    path: relative(".", file),
    isDefault,
    remove: () => {
      if (readOrEmpty(file) === text) rmSync(file, { force: true });
    },
  };
}

/** Returns false if the file belongs to a dev server that is still running. */
function tryWrite(file: string, text: string): boolean {
  const owner = Number(/^# Written by dev server (\d+)\./.exec(readOrEmpty(file))?.[1] ?? 0);
  if (owner > 0 && isRunning(owner)) return false;
  // Remove it first: writing to an existing file would keep its mode.
  rmSync(file, { force: true });
  try {
    writeFileSync(file, text, { mode: 0o600, flag: "wx" });
    return true;
  } catch (error) {
    // Another dev server has created it in the meantime.
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

/** The format has no escapes, but three kinds of quotes. */
function quote(value: string): string {
  const mark = ["'", '"', "`"].find((each) => !value.includes(each)) ?? "";
  return mark + value + mark;
}

function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
    throw error;
  }
}
