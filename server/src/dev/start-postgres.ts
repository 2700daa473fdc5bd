import { spawn } from "node:child_process";
import { once } from "node:events";
import { CannotStart } from "./cannot-start.ts";
import type { Report } from "./keep-postgres.ts";

export interface Postgres {
  /** Of its superuser. */
  url: string;
  died: Promise<string>;
  stop: () => Promise<void>;
}

/** A PostgreSQL from npm, in a temporary folder, for as long as this process lives. */
export async function startPostgres(): Promise<Postgres> {
  const script = new URL("./keep-postgres.ts", import.meta.url).pathname;
  const keeper = spawn(process.execPath, [script], { detached: true, stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const ended = once(keeper, "exit");
  const report = await Promise.race([
    once(keeper, "message").then(([message]) => message as Report),
    ended.then((): Report => ({ failure: "PostgreSQL cannot start: its keeper ended without a word." })),
  ]);
  if ("failure" in report) {
    await ended;
    throw new CannotStart(report.failure);
  }
  let isAsked = false;
  return {
    url: report.url,
    died: ended.then(() => (isAsked ? new Promise<never>(() => {}) : "PostgreSQL ended. Its log may say why.")),
    async stop() {
      isAsked = true;
      if (keeper.exitCode === null && keeper.signalCode === null) {
        if (keeper.connected) keeper.disconnect();
        await ended;
      }
    },
  };
}
