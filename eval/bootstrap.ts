/** Deterministic random numbers in [0, 1) (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export interface Interval {
  mean: number;
  low: number;
  high: number;
}

const resamples = 10_000;

/**
 * The mean and its 95% bootstrap interval. Pass per-query differences between two systems for a paired comparison,
 * which excludes the variance between easy and hard queries.
 */
export function bootstrapMean(values: readonly number[]): Interval {
  const random = seededRandom(20_261_115);
  const means = Array.from({ length: resamples }, () => {
    let sum = 0;
    for (let index = 0; index < values.length; index += 1) sum += values[Math.floor(random() * values.length)] ?? 0;
    return sum / values.length;
  }).toSorted((a, b) => a - b);
  return { mean: average(values), low: means[resamples * 0.025] ?? 0, high: means[resamples * 0.975 - 1] ?? 0 };
}

export function average(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
