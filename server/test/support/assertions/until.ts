import { setTimeout as wait } from "node:timers/promises";

/**
 * Polls until the condition is true, for work that happens asynchronously or in another process. The default timeout is long,
 * because a busy machine can be many times slower. It is shorter than the timeout of a test file in tools/test-report.ts.
 */
export async function until(
  description: string,
  isTrue: () => boolean | Promise<boolean>,
  timeoutMs = 120_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(`Not within ${timeoutMs} ms: ${description}.`);
    await wait(10);
  }
}
