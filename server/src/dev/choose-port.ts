import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import { CannotStart } from "./cannot-start.ts";

export interface PortWish {
  host: string;
  /** What was asked for by name; it is this one or none. 0 is any. */
  wanted?: number | undefined;
  usual?: number;
  /** The option to name if the wanted one is taken. */
  option?: string;
}

export async function choosePort({ host, wanted, usual, option }: PortWish): Promise<number> {
  if (wanted) {
    if (await isFree(host, wanted)) return wanted;
    throw new CannotStart(`Port ${wanted} is taken. Free it, or choose another: npm run dev -- ${option} 0`);
  }
  if (wanted === undefined && usual && (await isFree(host, usual))) return usual;
  // Below 32768, where systems take the ports of outgoing connections from: one of those could come in between.
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = randomInt(20_000, 32_768);
    if (await isFree(host, port)) return port;
  }
  throw new CannotStart(`No port is free on ${host}. Name one: npm run dev -- --port 8080`);
}

function isFree(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen({ host, port }, () => probe.close(() => resolve(true)));
  });
}
