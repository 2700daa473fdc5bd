import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Whether somebody has built it; whoever changes the console builds it anew or uses `npm run console:dev`. */
export function isConsoleBuilt(): boolean {
  return existsSync(`${root}console/dist/index.html`);
}

/** Takes a few seconds, once. Without it everything but the console works, so a failure is told and nothing more. */
export async function buildConsole(say: (line: string) => void): Promise<void> {
  await promisify(execFile)("npm", ["run", "--silent", "console:build"], { cwd: root }).catch((error: unknown) => {
    say(`The console could not be built: ${error instanceof Error ? error.message : String(error)}`);
  });
}
