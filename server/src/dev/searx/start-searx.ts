import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { choosePort } from "../choose-port.ts";
import { whileAlive } from "../start-child.ts";
import { StartupError } from "../startup-error.ts";
import { waitUntilReady } from "../wait-until-ready.ts";
import { findObstacle } from "./searx-packages.ts";
import { type SearxEngines, searxSettings } from "./searx-settings.ts";

export interface Searx {
  url: string;
  port: number;
  /** Resolves with a message if searx exits without `stop`. */
  died: Promise<string>;
  stop: () => Promise<void>;
}

export interface SearxOptions extends SearxEngines {
  /** Default: any free port. */
  port?: number;
  stopping?: AbortSignal;
}

/** Runs Debian's searx on a local port until it is stopped or this process ends. */
export async function startSearx({ port, stopping, ...engines }: SearxOptions): Promise<Searx> {
  const obstacle = findObstacle();
  if (obstacle) throw new StartupError(obstacle);
  const at = port ?? (await choosePort({ host: "127.0.0.1" }));
  const url = `http://127.0.0.1:${at}`;
  const folder = mkdtempSync(join(tmpdir(), "pennyblack-searx-"));
  const settings = join(folder, "settings.yml");
  writeFileSync(settings, searxSettings(engines), { mode: 0o600 });
  try {
    const child = spawnGunicorn(at, settings);
    const { died, stop } = supervise(child);
    const aborted = new AbortController();
    const signal = stopping ? AbortSignal.any([stopping, aborted.signal]) : aborted.signal;
    try {
      await whileAlive(waitUntilReady(`${url}/healthz`, signal), [{ died }]);
    } catch (error) {
      aborted.abort();
      await stop();
      throw error;
    }
    return { url, port: at, died, stop };
  } finally {
    // The settings have been loaded.
    rmSync(folder, { recursive: true, force: true });
  }
}

function spawnGunicorn(port: number, settings: string): ChildProcess {
  const options = {
    bind: `127.0.0.1:${port}`,
    // A single worker, because each keeps its own list of suspended engines.
    workers: "1",
    threads: "8",
    "graceful-timeout": "2",
    env: `SEARX_SETTINGS_PATH=${settings}`,
  };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  // Preloaded, so that a restarted worker does not need the settings file.
  const gunicorn = ["/usr/bin/gunicorn", ...args, "--preload", "searx.webapp:app"];
  // setpriv execs gunicorn and makes the kernel terminate it when this process dies, kill -9 included.
  return spawn("/usr/bin/setpriv", ["--pdeathsig", "TERM", ...gunicorn], {
    detached: true,
    stdio: ["ignore", "ignore", "pipe"],
  });
}

function supervise(child: ChildProcess): Pick<Searx, "died" | "stop"> {
  const stderrTail: string[] = [];
  if (child.stderr) {
    createInterface(child.stderr).on("line", (line) => {
      stderrTail.push(line);
      if (stderrTail.length > 20) stderrTail.shift();
    });
  }
  let isStopping = false;
  const ended = once(child, "close");
  return {
    died: ended.then(() =>
      isStopping ? new Promise<never>(() => {}) : ["searx exited unexpectedly.", ...stderrTail].join("\n"),
    ),
    async stop() {
      isStopping = true;
      // SIGINT stops it immediately; SIGTERM would wait for keep-alive connections.
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGINT");
      await ended;
    },
  };
}
