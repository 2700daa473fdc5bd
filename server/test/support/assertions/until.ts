import { setTimeout as wait } from "node:timers/promises";

/** Asks until the answer is yes; for what another process does in its own time. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>, patienceMs = 30_000): Promise<void> {
  const deadline = performance.now() + patienceMs;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`Not within ${patienceMs} ms: ${what}.`);
    await wait(10);
  }
}
