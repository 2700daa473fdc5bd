import { createHook } from "node:async_hooks";
import { createServer } from "node:net";
import { isMainThread } from "node:worker_threads";

// Loaded into the server process with `--import`. Answers each line on its port with the CPU time of the event loop, and
// with the turns of the event loop since the last answer that used more than `slowTurnMicros`.

export interface CpuReading {
  cpuMicros: number;
  slowTurns: SlowTurn[];
}

/** Times are milliseconds since the epoch, comparable between the processes of one machine. */
export interface SlowTurn {
  startedAt: number;
  endedAt: number;
  cpuMicros: number;
}

const slowTurnMicros = 20_000;
const maxSlowTurns = 1_000;
const port = process.env["CPU_PROBE_PORT"];

if (isMainThread && port !== undefined) {
  // Worker threads and child processes would try to use the same port.
  delete process.env["CPU_PROBE_PORT"];
  answerOn(Number(port), watchTurns());
}

/** A turn lasts from one callback of the event loop to the next, so that it includes the promises in between. */
function watchTurns(): () => SlowTurn[] {
  let slowTurns: SlowTurn[] = [];
  let latest = { at: now(), cpuMicros: readCpu() };
  createHook({
    before() {
      const current = { at: now(), cpuMicros: readCpu() };
      const cpuMicros = current.cpuMicros - latest.cpuMicros;
      if (cpuMicros > slowTurnMicros && slowTurns.length < maxSlowTurns)
        slowTurns.push({ startedAt: latest.at, endedAt: current.at, cpuMicros });
      latest = current;
    },
    trackPromises: false,
  }).enable();
  return function takeSlowTurns() {
    const taken = slowTurns;
    slowTurns = [];
    return taken;
  };
}

function answerOn(probePort: number, takeSlowTurns: () => SlowTurn[]): void {
  const server = createServer({ noDelay: true }, (socket) => {
    socket.unref().on("error", () => socket.destroy());
    socket.on("data", () => {
      const reading: CpuReading = { cpuMicros: readCpu(), slowTurns: takeSlowTurns() };
      socket.write(`${JSON.stringify(reading)}\n`);
    });
  });
  server.listen(probePort, "127.0.0.1").unref();
}

function readCpu(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

function now(): number {
  return performance.timeOrigin + performance.now();
}
