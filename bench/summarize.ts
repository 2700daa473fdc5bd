export interface Summary {
  median: number;
  least: number;
  most: number;
}

export function summarize(values: readonly number[]): Summary {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const median = (at(sorted, Math.floor(middle)) + at(sorted, Math.ceil(middle))) / 2;
  return { median, least: at(sorted, 0), most: at(sorted, sorted.length - 1) };
}

/** Round against round, because what disturbs the machine disturbs neighbours alike; then the median of those. */
export function summarizeRatio({ over, under }: { over: readonly number[]; under: readonly number[] }): Summary {
  return summarize(over.map((value, round) => value / at(under, round)));
}

function at(values: readonly number[], index: number): number {
  const value = values[index];
  if (value === undefined) throw new Error("nothing was measured");
  return value;
}
