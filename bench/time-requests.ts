export interface TimedRequests {
  /** In request order. */
  durationsMs: number[];
  /** Size of the last response. */
  bytes: number;
  body: unknown;
}

/** Times sequential requests over one connection, including reading the body. Throws on any status but 200. */
export async function timeRequests(url: string, key: string, count: number): Promise<TimedRequests> {
  const durationsMs: number[] = [];
  let text = "";
  for (let time = 0; time < count; time += 1) {
    const startMs = performance.now();
    const response = await fetch(url, { headers: { "x-api-key": key } });
    text = await response.text();
    durationsMs.push(performance.now() - startMs);
    if (response.status !== 200) throw new Error(`${url} returned ${response.status}: ${text}`);
  }
  return { durationsMs, bytes: text.length, body: JSON.parse(text) };
}

/** Nearest-rank percentile. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)];
  if (value === undefined) throw new Error("no measurements");
  return value;
}
