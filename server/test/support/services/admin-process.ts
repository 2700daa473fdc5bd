import { spawnNode } from "./node-process.ts";

export interface AdminRun {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

/** The admin command as `npm run admin` starts it, with this environment and no other. */
export async function runAdmin(environment: Record<string, string>, ...args: string[]): Promise<AdminRun> {
  const run = spawnNode("admin/main.ts", environment, { args });
  const exitCode = await run.ended;
  return { exitCode, stdout: run.stdout(), stderr: run.stderr() };
}
