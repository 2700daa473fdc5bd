import { setTimeout as wait } from "node:timers/promises";

/** Multiplies the time limits of tests on a machine that is slow or busy with other work. .ci/run sets it. */
export const timeFactor = Number(process.env["PENNYBLACK_TEST_TIME_FACTOR"] ?? 1);

/** Polls until the condition is true, for work that happens asynchronously or in another process. */
export async function until(
  description: string,
  isTrue: () => boolean | Promise<boolean>,
  timeoutMs = 15_000,
): Promise<void> {
  const deadline = performance.now() + timeFactor * timeoutMs;
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(`Not within ${timeFactor * timeoutMs} ms: ${description}.`);
    await wait(10);
  }
}
