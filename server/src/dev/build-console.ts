import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Checks only that a build exists. After changes, rebuild the console or use `npm run console:dev`. */
export function isConsoleBuilt(): boolean {
  return existsSync(`${root}console/dist/index.html`);
}

/** Everything except the console works without a build, so a failure is only printed. */
export async function buildConsole(print: (line: string) => void): Promise<void> {
  await promisify(execFile)("npm", ["run", "--silent", "console:build"], { cwd: root }).catch((error: unknown) => {
    print(`Building the console failed: ${error instanceof Error ? error.message : String(error)}`);
  });
}
