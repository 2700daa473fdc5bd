/** Numbers from 0 up to 1 that are the same on every run (mulberry32). */
export function seededNumbers(seed: number): () => number {
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

const rounds = 10_000;

/**
 * The mean of the values and its 95 % interval. Given differences of two systems query by query, it is a paired
 * comparison: that some queries are harder than others then widens nothing.
 */
export function bootstrapMean(values: readonly number[]): Interval {
  const next = seededNumbers(20_261_115);
  const means = Array.from({ length: rounds }, () => {
    let sum = 0;
    for (let index = 0; index < values.length; index += 1) sum += values[Math.floor(next() * values.length)] ?? 0;
    return sum / values.length;
  }).toSorted((a, b) => a - b);
  return { mean: meanOf(values), low: means[rounds * 0.025] ?? 0, high: means[rounds * 0.975 - 1] ?? 0 };
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
