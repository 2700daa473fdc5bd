const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** After the first failure, the second, and so on: ten attempts within about three days. */
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

/** How long to wait after the attempt of this number (1 is the first), or nothing if it was the last. */
export function retryDelayMs(attempt: number, random: () => number = Math.random): number | undefined {
  const delayMs = retryDelaysMs[attempt - 1];
  // Up to a tenth more, so that what failed together does not come back together.
  return delayMs === undefined ? undefined : Math.round(delayMs * (1 + random() / 10));
}
