const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** Delay after the first failure, the second, and so on: ten attempts within about three days. */
const retryDelaysMs = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
];

/** Delay after the given attempt, counted from 1. Undefined after the last one. */
export function retryDelayMs(attempt: number, random: () => number = Math.random): number | undefined {
  const delayMs = retryDelaysMs[attempt - 1];
  // Up to 10 % jitter, so that deliveries that failed together are not retried together.
  return delayMs === undefined ? undefined : Math.round(delayMs * (1 + random() / 10));
}
