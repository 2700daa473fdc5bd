import { get } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { StartupError } from "./startup-error.ts";

const timeoutMs = 30_000;

/** Polls a URL such as /readyz until it returns 200. */
export async function waitUntilReady(url: string, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!signal.aborted) {
    if ((await fetchStatus(url)) === 200) return;
    if (performance.now() > deadline) {
      throw new StartupError(
        `${url} was not ready after ${timeoutMs / 1_000} s. For details: PENNYBLACK_LOG_LEVEL=debug npm run dev`,
      );
    }
    await wait(25);
  }
}

/** Returns 0 while nothing is listening. */
function fetchStatus(url: string): Promise<number> {
  return new Promise((resolve) => {
    get(url, { agent: false, timeout: 5_000 }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    }).once("error", () => resolve(0));
  });
}
