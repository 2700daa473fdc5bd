import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";

// `npm run admin` reads this file, so that it works with the dev server in another terminal.

/** Relative to the working directory, which npm sets to the repository root. */
const environmentFile = resolve(".pennyblack/dev.env");

/** Returns a function that removes the file, unless a later dev server has replaced it. */
export function writeEnvironmentFile(environment: Readonly<Record<string, string>>): () => void {
  const lines = Object.entries(environment).map(([name, value]) => `${name}=${quote(value)}`);
  const text = `# Written by dev server ${process.pid}. Removed when it stops.\n${lines.join("\n")}\n`;
  mkdirSync(dirname(environmentFile), { recursive: true, mode: 0o700 });
  // Remove it first: writing to an existing file would keep its mode.
  rmSync(environmentFile, { force: true });
  writeFileSync(environmentFile, text, { mode: 0o600 });
  return () => {
    if (readOrEmpty() === text) rmSync(environmentFile, { force: true });
  };
}

/** The format has no escapes, but three kinds of quotes. */
function quote(value: string): string {
  const mark = ["'", '"', "`"].find((each) => !value.includes(each)) ?? "";
  return mark + value + mark;
}

function readOrEmpty(): string {
  try {
    return readFileSync(environmentFile, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
    throw error;
  }
}
