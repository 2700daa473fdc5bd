import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { choosePort } from "../../../src/dev/choose-port.ts";
import { until } from "../assertions/until.ts";
import type { TestDatabase } from "./database.ts";
import { testEnvironment } from "./server.ts";

export interface WorkerProcess {
  process: ChildProcess;
  opsUrl: string;
  logged: () => string;
  /** The value of a metric without labels, 0 if it was never set. */
  metric(name: string): Promise<number>;
  /** Ends it as a supervisor would; says its exit code. */
  stop(): Promise<number | null>;
}

/** The worker as `npm run worker` starts it, over a test database. */
export async function startWorkerProcess(
  db: TestDatabase,
  settings: Record<string, string> = {},
): Promise<WorkerProcess> {
  const port = await choosePort({ host: "127.0.0.1" });
  const opsUrl = `http://127.0.0.1:${port}`;
  const child = spawn(process.execPath, [new URL("../../../src/jobs/main.ts", import.meta.url).pathname], {
    env: {
      ...testEnvironment(db),
      PENNYBLACK_DIRECT_DATABASE_URL: db.ownerUrl,
      PENNYBLACK_OPS_PORT: String(port),
      ...settings,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const ended = once(child, "exit");

  await until("the worker is ready", async () => {
    if (child.exitCode !== null) throw new Error(`The worker ended: ${output}`);
    return (await fetch(`${opsUrl}/readyz`).catch(() => undefined))?.status === 200;
  });
  return {
    process: child,
    opsUrl,
    logged: () => output,
    async metric(name) {
      const text = await (await fetch(`${opsUrl}/metrics`)).text();
      return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, "m").exec(text)?.[1] ?? 0);
    },
    async stop() {
      child.kill("SIGTERM");
      await ended;
      return child.exitCode;
    },
  };
}
