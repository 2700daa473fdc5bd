import { setTimeout as wait } from "node:timers/promises";

/** Asks until the answer is yes; for what another process does in its own time. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>, timeoutMs = 30_000): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`Not within ${timeoutMs} ms: ${what}.`);
    await wait(10);
  }
}
