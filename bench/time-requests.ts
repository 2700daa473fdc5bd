export interface Timed {
  /** Milliseconds, in the order of the requests. */
  took: number[];
  /** Of the last answer. */
  bytes: number;
  body: unknown;
}

/** One request after the other over one kept connection, each read to its last byte. Any answer but 200 is an error. */
export async function timeRequests(url: string, key: string, times: number): Promise<Timed> {
  const took: number[] = [];
  let text = "";
  for (let time = 0; time < times; time += 1) {
    const began = performance.now();
    const response = await fetch(url, { headers: { "x-api-key": key } });
    text = await response.text();
    took.push(performance.now() - began);
    if (response.status !== 200) throw new Error(`${url} answers ${response.status}: ${text}`);
  }
  return { took, bytes: text.length, body: JSON.parse(text) };
}

/** The smallest value that so many hundredths of the values do not exceed. */
export function percentile(values: readonly number[], hundredths: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil((hundredths / 100) * sorted.length) - 1)];
  if (value === undefined) throw new Error("nothing was measured");
  return value;
}
