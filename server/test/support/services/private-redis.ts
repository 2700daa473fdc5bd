import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { choosePort } from "../../../src/dev/choose-port.ts";
import { until } from "../assertions/until.ts";
import { killAfterTests } from "./node-process.ts";

export interface PrivateRedis {
  url: string;
  process: ChildProcess;
  /** Sends SIGKILL and waits for the process to exit. */
  kill(): Promise<void>;
}

/** A separate Redis that the test can pause and kill. */
export async function startPrivateRedis(port?: number): Promise<PrivateRedis> {
  const at = port ?? (await choosePort({ host: "127.0.0.1" }));
  const options = ["--port", String(at), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
  const child = killAfterTests(spawn("redis-server", options, { stdio: "ignore" }));
  const ended = once(child, "exit");
  await until("Redis listens", () => canConnect(at));
  return {
    url: `redis://127.0.0.1:${at}`,
    process: child,
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
