import { once } from "node:events";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import type { CpuReading } from "./cpu-probe.ts";

/** Reads the CPU time of a server that has loaded cpu-probe.ts. */
export interface CpuMeter {
  read(): Promise<CpuReading>;
  close(): void;
}

/** To be loaded into the server, with its port in the setting CPU_PROBE_PORT. */
export const cpuProbe = new URL("./cpu-probe.ts", import.meta.url).href;

export async function openCpuMeter(port: number): Promise<CpuMeter> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  await once(socket, "connect");
  const lines = createInterface(socket);
  const waiting: ((reading: CpuReading) => void)[] = [];
  lines.on("line", (line) => waiting.shift()?.(JSON.parse(line) as CpuReading));
  // The server has ended, which the caller reports.
  socket.on("error", () => socket.destroy());
  socket.on("close", () => {
    for (const resolve of waiting.splice(0)) resolve({ cpuMicros: 0, slowTurns: [] });
  });
  return {
    async read() {
      if (socket.destroyed) return { cpuMicros: 0, slowTurns: [] };
      const { promise, resolve } = Promise.withResolvers<CpuReading>();
      waiting.push(resolve);
      socket.write("?");
      return promise;
    },
    close: () => void socket.destroy(),
  };
}
