import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";

// What `npm run admin` reads, so that it works on the dev server that runs in another terminal.

/** Below the working folder, which npm makes the repository's. */
const environmentFile = resolve(".pennyblack/dev.env");

/** Returns what removes it again, unless a dev server that started later has written its own. */
export function writeEnvironmentFile(environment: Readonly<Record<string, string>>): () => void {
  const lines = Object.entries(environment).map(([name, value]) => `${name}=${quote(value)}`);
  const text = `# The dev server ${process.pid}. Removed when it stops.\n${lines.join("\n")}\n`;
  mkdirSync(dirname(environmentFile), { recursive: true, mode: 0o700 });
  // Removed first: writing to a file that is there would keep its mode.
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
