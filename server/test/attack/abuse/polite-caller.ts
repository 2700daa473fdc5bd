import { setTimeout as wait } from "node:timers/promises";

export interface Politeness {
  searches: number;
  /** Answers other than 200, and none at all. */
  refused: string[];
  p50Ms: number;
  p99Ms: number;
}

/** Someone who pays, `perSecond` searches a second, every fifth on a new connection. */
export async function callPolitely(
  url: string,
  key: string,
  { forMs, perSecond }: { forMs: number; perSecond: number },
): Promise<Politeness> {
  const times: number[] = [];
  const refused: string[] = [];
  const underWay: Promise<void>[] = [];
  const end = performance.now() + forMs;
  for (let count = 0; performance.now() < end; count += 1) {
    underWay.push(searchOnce(count % 5 === 0 ? { connection: "close" } : {}));
    await wait(1_000 / perSecond);
  }
  await Promise.all(underWay);
  const sorted = times.toSorted((left, right) => left - right);
  const at = (share: number): number => Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN);
  return { searches: underWay.length, refused, p50Ms: at(0.5), p99Ms: at(0.99) };

  async function searchOnce(headers: Record<string, string>): Promise<void> {
    const begun = performance.now();
    const status = await fetch(`${url}/v1/search`, {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json", ...headers },
      body: '{"query":"cats"}',
      signal: AbortSignal.timeout(20_000),
    }).then(
      async (response) => {
        await response.arrayBuffer();
        return response.status;
      },
      (error: unknown) => String(error),
    );
    times.push(performance.now() - begun);
    if (status !== 200) refused.push(String(status));
  }
}
