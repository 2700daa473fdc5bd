import { setTimeout as wait } from "node:timers/promises";

export interface CallerResult {
  searches: number;
  /** Statuses other than 200, and connection errors. */
  failures: string[];
  p50Ms: number;
  p99Ms: number;
}

export interface Pace {
  forMs: number;
  perSecond: number;
  /** Continues until this many were sent. Default: 1. */
  atLeast?: number;
}

/** Sends `perSecond` paid searches a second, every fifth on a new connection. */
export function measureCaller(url: string, key: string, pace: Pace): Promise<CallerResult> {
  return measureRequests(pace, (count) =>
    requestOnce(`${url}/v1/search`, {
      method: "POST",
      headers: {
        "x-api-key": key,
        "content-type": "application/json",
        ...(count % 5 === 0 ? { connection: "close" } : {}),
      },
      body: '{"query":"cats"}',
    }),
  );
}

/** Resolves with 200, or with a description of the failure. */
export async function requestOnce(url: string, init: RequestInit): Promise<200 | string> {
  return fetch(url, { ...init, signal: AbortSignal.timeout(20_000) }).then(
    async (response) => {
      const body = await response.text();
      return response.status === 200 ? 200 : `${response.status} ${body.slice(0, 300)}`;
    },
    (error: unknown) => String(error),
  );
}

/** Starts requests at a steady rate, regardless of the earlier ones. */
export async function measureRequests(
  { forMs, perSecond, atLeast = 1 }: Pace,
  send: (count: number) => Promise<200 | string>,
): Promise<CallerResult> {
  const times: number[] = [];
  const failures: string[] = [];
  const inFlight: Promise<void>[] = [];
  const end = performance.now() + forMs;
  for (let count = 0; performance.now() < end || count < atLeast; count += 1) {
    inFlight.push(sendOnce(count));
    await wait(1_000 / perSecond);
  }
  await Promise.all(inFlight);
  const sorted = times.toSorted((left, right) => left - right);
  const at = (share: number): number => Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN);
  return { searches: inFlight.length, failures, p50Ms: at(0.5), p99Ms: at(0.99) };

  async function sendOnce(count: number): Promise<void> {
    const startedAt = performance.now();
    const status = await send(count);
    times.push(performance.now() - startedAt);
    if (status !== 200) failures.push(status);
  }
}
