import { choosePort } from "../server/src/dev/choose-port.ts";
import { ensureProgram } from "./ensure-program.ts";
import type { Workshop } from "./workshop.ts";

/** Where the limits are counted. It keeps nothing on disk, as ours needs nothing kept. */
export async function startRedis(workshop: Workshop): Promise<{ url: string }> {
  const program = ensureProgram({ name: "redis-server", debianPackage: "redis-server" });
  const port = await choosePort({ host: "127.0.0.1" });
  const args = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
  await workshop.start({ name: "Redis", program, args, port });
  return { url: `redis://127.0.0.1:${port}` };
}
