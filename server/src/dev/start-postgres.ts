import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Report } from "./postgres-supervisor.ts";
import { StartupError } from "./startup-error.ts";

export interface Postgres {
  /** Connects as the superuser. */
  url: string;
  died: Promise<string>;
  stop: () => Promise<void>;
}

/** Runs PostgreSQL from npm until this process ends. Without a folder, its data is temporary. `reset` deletes older data. */
export async function startPostgres({
  folder,
  reset = false,
}: {
  folder?: string | undefined;
  reset?: boolean;
} = {}): Promise<Postgres> {
  const script = new URL("./postgres-supervisor.ts", import.meta.url).pathname;
  const args = folder === undefined ? [] : [folder, ...(reset ? ["reset"] : [])];
  const supervisor = spawn(process.execPath, [script, ...args], {
    detached: true,
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const ended = once(supervisor, "exit");
  const report = await Promise.race([
    once(supervisor, "message").then(([message]) => message as Report),
    ended.then((): Report => ({ failure: "PostgreSQL failed to start: its supervisor exited." })),
  ]);
  if ("failure" in report) {
    await ended;
    throw new StartupError(report.failure);
  }
  let isStopping = false;
  return {
    url: report.url,
    died: ended.then(() => (isStopping ? new Promise<never>(() => {}) : "PostgreSQL exited unexpectedly.")),
    async stop() {
      isStopping = true;
      if (supervisor.exitCode === null && supervisor.signalCode === null) {
        if (supervisor.connected) supervisor.disconnect();
        await ended;
      }
    },
  };
}
