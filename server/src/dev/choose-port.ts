import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import { StartupError } from "./startup-error.ts";

export interface PortOptions {
  host: string;
  /** An explicitly requested port, which must be free. 0 for any free port. */
  requested?: number | undefined;
  preferred?: number;
  /** The option to mention in the error message. */
  option?: string;
}

export async function choosePort({ host, requested, preferred, option }: PortOptions): Promise<number> {
  if (requested) {
    if (await isFree(host, requested)) return requested;
    throw new StartupError(`Port ${requested} is in use. Free it, or let dev choose one: npm run dev -- ${option} 0`);
  }
  if (requested === undefined && preferred && (await isFree(host, preferred))) return preferred;
  // Below 32768: an ephemeral port could be taken by an outgoing connection before the server binds it.
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = randomInt(20_000, 32_768);
    if (await isFree(host, port)) return port;
  }
  throw new StartupError(`No free port found on ${host}. Choose one: npm run dev -- --port 8080`);
}

function isFree(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen({ host, port }, () => probe.close(() => resolve(true)));
  });
}
