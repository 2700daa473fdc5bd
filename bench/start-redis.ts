import { choosePort } from "../server/src/dev/choose-port.ts";
import type { Harness } from "./harness.ts";

/** Starts Redis for rate limits, without persistence. */
export async function startRedis(harness: Harness): Promise<{ url: string }> {
  const port = await choosePort({ host: "127.0.0.1" });
  const args = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
  await harness.start({ name: "Redis", program: "redis-server", args, port });
  return { url: `redis://127.0.0.1:${port}` };
}
