import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { after } from "node:test";
import { choosePort } from "../../../src/dev/choose-port.ts";
import { until } from "../assertions/until.ts";

export interface PrivateRedis {
  url: string;
  process: ChildProcess;
  /** Ends it without a word, by its own process id. */
  kill(): Promise<void>;
}

// A test that fails before it kills its Redis must not leave it behind, nor wait for it for ever.
const started = new Set<ChildProcess>();
after(() => {
  for (const child of started) child.kill("SIGKILL");
});

/** A Redis of the test's own, to be stopped and killed at will. */
export async function startPrivateRedis(port?: number): Promise<PrivateRedis> {
  const at = port ?? (await choosePort({ host: "127.0.0.1" }));
  const child = spawn(
    "redis-server",
    ["--port", String(at), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"],
    {
      stdio: "ignore",
    },
  );
  const ended = once(child, "exit");
  started.add(child);
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
