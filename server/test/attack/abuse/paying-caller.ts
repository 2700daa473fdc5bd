import { setTimeout as wait } from "node:timers/promises";

export interface CallerResult {
  searches: number;
  /** Statuses other than 200, and connection errors. */
  failures: string[];
  p50Ms: number;
  p99Ms: number;
}

/** Sends `perSecond` paid searches a second, every fifth on a new connection. */
export async function measureCaller(
  url: string,
  key: string,
  { forMs, perSecond }: { forMs: number; perSecond: number },
): Promise<CallerResult> {
  const times: number[] = [];
  const failures: string[] = [];
  const inFlight: Promise<void>[] = [];
  const end = performance.now() + forMs;
  for (let count = 0; performance.now() < end; count += 1) {
    inFlight.push(searchOnce(count % 5 === 0 ? { connection: "close" } : {}));
    await wait(1_000 / perSecond);
  }
  await Promise.all(inFlight);
  const sorted = times.toSorted((left, right) => left - right);
  const at = (share: number): number => Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN);
  return { searches: inFlight.length, failures, p50Ms: at(0.5), p99Ms: at(0.99) };

  async function searchOnce(headers: Record<string, string>): Promise<void> {
    const startedAt = performance.now();
    const status = await fetch(`${url}/v1/search`, {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json", ...headers },
      body: '{"query":"cats"}',
      signal: AbortSignal.timeout(20_000),
    }).then(
      async (response) => {
        const body = await response.text();
        return response.status === 200 ? 200 : `${response.status} ${body.slice(0, 300)}`;
      },
      (error: unknown) => String(error),
    );
    times.push(performance.now() - startedAt);
    if (status !== 200) failures.push(status);
  }
}
