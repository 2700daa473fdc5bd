export interface Summary {
  median: number;
  min: number;
  max: number;
}

export function summarize(values: readonly number[]): Summary {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const median = (at(sorted, Math.floor(middle)) + at(sorted, Math.ceil(middle))) / 2;
  return { median, min: at(sorted, 0), max: at(sorted, sorted.length - 1) };
}

/** Summarizes per-round ratios, so that a disturbance that affects both sides of a round cancels out. */
export function summarizeRatio({ over, under }: { over: readonly number[]; under: readonly number[] }): Summary {
  return summarize(over.map((value, round) => value / at(under, round)));
}

function at(values: readonly number[], index: number): number {
  const value = values[index];
  if (value === undefined) throw new Error("no measurements");
  return value;
}

/** Nearest-rank percentile. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)];
  if (value === undefined) throw new Error("no measurements");
  return value;
}

export function formatSpread({ median, min, max }: Summary): string {
  return `${median.toFixed(2)} (${min.toFixed(2)}..${max.toFixed(2)})`;
}
