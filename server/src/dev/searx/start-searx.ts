import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { CannotStart } from "../cannot-start.ts";
import { choosePort } from "../choose-port.ts";
import { whileAlive } from "../start-child.ts";
import { waitUntilReady } from "../wait-until-ready.ts";
import { findObstacle } from "./searx-packages.ts";
import { type SearxEngines, searxSettings } from "./searx-settings.ts";

export interface Searx {
  url: string;
  port: number;
  /** Says why, if it ends without having been asked to. */
  died: Promise<string>;
  stop: () => Promise<void>;
}

export interface SearxWish extends SearxEngines {
  /** Any that is free if none is named. */
  port?: number;
  stopping?: AbortSignal;
}

/** Debian's searx as a program of its own, on a port of this machine, until it is stopped or we are gone. */
export async function startSearx({ port, stopping, ...engines }: SearxWish): Promise<Searx> {
  const obstacle = findObstacle();
  if (obstacle) throw new CannotStart(obstacle);
  const at = port ?? (await choosePort({ host: "127.0.0.1" }));
  const url = `http://127.0.0.1:${at}`;
  const folder = mkdtempSync(join(tmpdir(), "pennyblack-searx-"));
  const settings = join(folder, "settings.yml");
  writeFileSync(settings, searxSettings(engines), { mode: 0o600 });
  try {
    const child = spawnGunicorn(at, settings);
    const { died, stop } = keep(child);
    const givenUp = new AbortController();
    const signal = stopping ? AbortSignal.any([stopping, givenUp.signal]) : givenUp.signal;
    try {
      await whileAlive(waitUntilReady(`${url}/healthz`, signal), [{ died }]);
    } catch (error) {
      givenUp.abort();
      await stop();
      throw error;
    }
    return { url, port: at, died, stop };
  } finally {
    // It has read them, and keeps what it has read.
    rmSync(folder, { recursive: true, force: true });
  }
}

function spawnGunicorn(port: number, settings: string): ChildProcess {
  const options = {
    bind: `127.0.0.1:${port}`,
    // One, because it remembers which engines are suspended, and a second one would remember others.
    workers: "1",
    threads: "8",
    "graceful-timeout": "2",
    env: `SEARX_SETTINGS_PATH=${settings}`,
  };
  const words = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  // Loaded before the worker is, so that one started anew needs no settings.
  const gunicorn = ["/usr/bin/gunicorn", ...words, "--preload", "searx.webapp:app"];
  // setpriv becomes gunicorn, and has the kernel end it when this process is gone, kill -9 included.
  return spawn("/usr/bin/setpriv", ["--pdeathsig", "TERM", ...gunicorn], {
    detached: true,
    stdio: ["ignore", "ignore", "pipe"],
  });
}

function keep(child: ChildProcess): Pick<Searx, "died" | "stop"> {
  const lastWords: string[] = [];
  if (child.stderr) {
    createInterface(child.stderr).on("line", (line) => {
      lastWords.push(line);
      if (lastWords.length > 20) lastWords.shift();
    });
  }
  let isAsked = false;
  const ended = once(child, "close");
  return {
    died: ended.then(() => (isAsked ? new Promise<never>(() => {}) : ["searx ended.", ...lastWords].join("\n"))),
    async stop() {
      isAsked = true;
      // At once: the polite signal has it wait for connections that somebody keeps open.
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGINT");
      await ended;
    },
  };
}
