import { spawn } from "node:child_process";
import { once } from "node:events";

export interface AdminRun {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

/** The admin command as `npm run admin` starts it, with this environment and no other. */
export async function runAdmin(environment: Record<string, string>, ...args: string[]): Promise<AdminRun> {
  const script = new URL("../../../src/admin/main.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, [script, ...args], { env: environment, stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  await once(child, "close");
  return { exitCode: child.exitCode, stdout, stderr };
}
