import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import { StartupError } from "./startup-error.ts";

/** A random free port. Below 32768: an ephemeral port could be taken by an outgoing connection before the server binds it. */
export async function choosePort({ host }: { host: string }): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = randomInt(20_000, 32_768);
    if (await isPortFree(host, port)) return port;
  }
  throw new StartupError(`No free port found on ${host}. Choose one: npm run dev -- --port 8080`);
}

export function isPortFree(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen({ host, port }, () => probe.close(() => resolve(true)));
  });
}
