import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { after } from "node:test";
import { choosePort } from "../../../src/dev/choose-port.ts";
import { until } from "../assertions/until.ts";
import type { TestDatabase } from "./database.ts";
import { testEnvironment } from "./server.ts";

export interface ServerProcess {
  process: ChildProcess;
  url: string;
  opsUrl: string;
  /** Everything it wrote, to either stream. */
  output: () => string;
  ended: Promise<number | null>;
}

const script = new URL("../../../src/main.ts", import.meta.url).pathname;

// A test that fails before it stops its server must not leave it behind, nor wait for it for ever.
const started = new Set<ChildProcess>();
after(() => {
  for (const child of started) child.kill("SIGKILL");
});

/** The server as `npm start` runs it, over a test database, as soon as it says that it is ready. */
export async function startServerProcess(
  db: TestDatabase,
  settings: Record<string, string> = {},
  nodeOptions: string[] = [],
): Promise<ServerProcess> {
  const [port, opsPort] = [await choosePort({ host: "127.0.0.1" }), await choosePort({ host: "127.0.0.1" })];
  const listeners = { HOST: "127.0.0.1", PORT: String(port), PENNYBLACK_OPS_PORT: String(opsPort) };
  const server = spawnServer({ ...testEnvironment(db), ...listeners, ...settings }, nodeOptions);
  const opsUrl = `http://127.0.0.1:${opsPort}`;
  await until("the server is ready", async () => {
    if (server.process.exitCode !== null) throw new Error(`The server ended: ${server.output()}`);
    return (await fetch(`${opsUrl}/readyz`).catch(() => undefined))?.status === 200;
  });
  return { ...server, url: `http://127.0.0.1:${port}`, opsUrl };
}

/** For a server that is expected to refuse to start, with this environment and nothing else. */
export async function failServerProcess(
  environment: Record<string, string>,
): Promise<{ exitCode: number | null; output: string }> {
  const server = spawnServer(environment, []);
  const exitCode = await server.ended;
  return { exitCode, output: server.output() };
}

function spawnServer(environment: Record<string, string>, nodeOptions: string[]) {
  const child = spawn(process.execPath, [...nodeOptions, script], {
    env: environment,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const ended = once(child, "close").then(() => child.exitCode);
  started.add(child);
  return { process: child, output: () => output, ended };
}
