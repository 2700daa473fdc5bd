import { choosePort } from "../../../src/dev/choose-port.ts";
import { until } from "../assertions/until.ts";
import type { TestDatabase } from "./database.ts";
import { type NodeProcess, spawnNode } from "./node-process.ts";
import { withPgBouncer } from "./pgbouncer.ts";
import { testEnvironment } from "./server.ts";

export interface ServerProcess extends NodeProcess {
  url: string;
  opsUrl: string;
}

/** The server as `npm start` runs it, on a test database. Resolves when it is ready, or when it listens. */
export async function startServerProcess(
  db: TestDatabase,
  settings: Record<string, string> = {},
  nodeOptions: string[] = [],
  awaited: "ready" | "listening" = "ready",
): Promise<ServerProcess> {
  const [port, opsPort] = [await choosePort({ host: "127.0.0.1" }), await choosePort({ host: "127.0.0.1" })];
  const listeners = { HOST: "127.0.0.1", PORT: String(port), PENNYBLACK_OPS_PORT: String(opsPort) };
  const server = spawnNode("main.ts", await withPgBouncer({ ...testEnvironment(db), ...listeners, ...settings }), {
    nodeOptions,
  });
  const [url, opsUrl] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${opsPort}`];
  // The internal listener is the first.
  const probe = awaited === "ready" ? `${opsUrl}/readyz` : `${url}/openapi.json`;
  await until(`the server is ${awaited}`, async () => {
    if (server.process.exitCode !== null) throw new Error(`The server exited: ${server.output()}`);
    return (await fetch(probe).catch(() => undefined))?.status === 200;
  });
  return { ...server, url, opsUrl };
}

/** For a server or worker that is expected to refuse to start, with this environment and no other. */
export async function failServerProcess(
  environment: Record<string, string>,
  entryPoint = "main.ts",
): Promise<{ exitCode: number | null; output: string }> {
  const started = spawnNode(entryPoint, environment);
  const exitCode = await started.ended;
  return { exitCode, output: started.output() };
}
