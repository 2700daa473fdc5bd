import { spawn } from "node:child_process";
import { once } from "node:events";
import { choosePort } from "../../../src/dev/choose-port.ts";
import { until } from "../../support/assertions/until.ts";
import { compileCache } from "../../support/services/compile-cache.ts";
import type { TestDatabase } from "../../support/services/database.ts";
import { testEnvironment } from "../../support/services/server.ts";

export interface LaunchedProcess {
  url: string;
  opsUrl: string;
  process: ReturnType<typeof spawn>;
  /** The last part of its output. */
  output: () => string;
  ended: Promise<number | null>;
}

/** Starts the server as `npm start` does, for a command that stops it itself and does not run in a test. */
export function launchServer(
  db: TestDatabase,
  settings: Record<string, string>,
  preloaded: readonly string[] = [],
): Promise<LaunchedProcess> {
  const script = new URL("../../../src/main.ts", import.meta.url).pathname;
  return launchProcess(script, { ...testEnvironment(db), ...settings }, preloaded);
}

/** Starts a server or worker, on free ports of the loopback address unless the settings name others, and waits until it is ready. */
export async function launchProcess(
  script: string,
  settings: Record<string, string>,
  preloaded: readonly string[] = [],
): Promise<LaunchedProcess> {
  const [port, opsPort] = [await choosePort({ host: "127.0.0.1" }), await choosePort({ host: "127.0.0.1" })];
  const listeners = {
    HOST: "127.0.0.1",
    PORT: String(port),
    PENNYBLACK_OPS_HOST: "127.0.0.1",
    PENNYBLACK_OPS_PORT: String(opsPort),
    ...settings,
  };
  const child = spawn(process.execPath, [...preloaded.map((file) => `--import=${file}`), script], {
    env: { ...compileCache, ...listeners },
    stdio: ["ignore", "pipe", "pipe"],
  });
  process.once("exit", () => child.kill("SIGKILL"));
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => (output = (output + chunk.toString()).slice(-20_000)));
  }
  const ended = once(child, "close").then(() => child.exitCode);
  const url = `http://${listeners.HOST}:${listeners.PORT}`;
  const opsUrl = `http://${listeners.PENNYBLACK_OPS_HOST}:${listeners.PENNYBLACK_OPS_PORT}`;
  const isReady = async (): Promise<boolean> => {
    if (child.exitCode !== null) throw new Error(`${script} ended: ${output}`);
    return (await fetch(`${opsUrl}/readyz`).catch(() => undefined))?.status === 200;
  };
  await until("the process is ready", isReady, 120_000);
  return { url, opsUrl, process: child, output: () => output, ended };
}
