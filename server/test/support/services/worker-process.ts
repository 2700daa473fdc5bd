import type { ChildProcess } from "node:child_process";
import { choosePort } from "../../../src/dev/choose-port.ts";
import { until } from "../assertions/until.ts";
import type { TestDatabase } from "./database.ts";
import { spawnNode } from "./node-process.ts";
import { testEnvironment } from "./server.ts";

export interface WorkerProcess {
  process: ChildProcess;
  opsUrl: string;
  logged: () => string;
  /** The value of a metric without labels, 0 if it was never set. */
  metric(name: string): Promise<number>;
  /** Stops it as a supervisor would. Returns the exit code. */
  stop(): Promise<number | null>;
}

/** The worker as `npm run worker` starts it, on a test database. */
export async function startWorkerProcess(
  db: TestDatabase,
  settings: Record<string, string> = {},
): Promise<WorkerProcess> {
  const port = settings["PENNYBLACK_OPS_PORT"] ?? String(await choosePort({ host: "127.0.0.1" }));
  const opsUrl = `http://127.0.0.1:${port}`;
  const own = {
    PENNYBLACK_WORKER_DATABASE_URL: db.workerUrl,
    PENNYBLACK_DIRECT_DATABASE_URL: db.ownerUrl,
    PENNYBLACK_OPS_PORT: port,
  };
  const worker = spawnNode("jobs/main.ts", { ...testEnvironment(db), ...own, ...settings });
  await until("the worker is ready", async () => {
    if (worker.process.exitCode !== null) throw new Error(`The worker exited: ${worker.output()}`);
    return (await fetch(`${opsUrl}/readyz`).catch(() => undefined))?.status === 200;
  });
  return {
    process: worker.process,
    opsUrl,
    logged: worker.output,
    async metric(name) {
      const text = await (await fetch(`${opsUrl}/metrics`)).text();
      return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, "m").exec(text)?.[1] ?? 0);
    },
    stop() {
      worker.process.kill("SIGTERM");
      return worker.ended;
    },
  };
}
