import { get } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { CannotStart } from "./cannot-start.ts";

const patienceMs = 30_000;

/** Asks an address such as /readyz until the answer is yes. */
export async function waitUntilReady(url: string, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + patienceMs;
  while (!signal.aborted) {
    if ((await askStatus(url)) === 200) return;
    if (performance.now() > deadline) {
      throw new CannotStart(
        `${url} said no for ${patienceMs / 1_000} s. PENNYBLACK_LOG_LEVEL=debug npm run dev says more.`,
      );
    }
    await wait(25);
  }
}

/** 0 while nothing listens there yet. */
function askStatus(url: string): Promise<number> {
  return new Promise((resolve) => {
    get(url, { agent: false, timeout: 5_000 }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    }).once("error", () => resolve(0));
  });
}
