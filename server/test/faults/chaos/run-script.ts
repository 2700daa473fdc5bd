import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { after } from "node:test";

const script = new URL("./chaos.ts", import.meta.url).pathname;
const stopped = new AbortController();
after(() => stopped.abort());

/** `npm run chaos` with these options. It is stopped after the last test of the file. */
export async function runChaos(...args: string[]): Promise<{ code: number | null; out: string; progress: string }> {
  const child = spawn(process.execPath, [script, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    signal: stopped.signal,
  });
  child.on("error", () => undefined);
  const [out, progress] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { code: child.exitCode, out, progress };
}
