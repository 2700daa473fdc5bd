/** The smallest CPU time in microseconds of an input at each fraction of its largest size. */
export interface Costs {
  /** With a part of a few characters: the price of the request itself. */
  tiny: number;
  quarter: number;
  half: number;
  full: number;
}

/** The sizes that are measured, as fractions of the limit. */
export const fractions = { tiny: 0, quarter: 1 / 4, half: 1 / 2, full: 1 } as const satisfies Record<
  keyof Costs,
  number
>;

/** A request may not occupy the event loop for longer. */
export const maxMicros = 20_000;

/** Below this, growth and noise look the same. */
export const minMicrosOfGrowth = 5_000;

/** Linear growth doubles from half to full size; quadratic growth quadruples. */
const maxGrowth = 2.8;

/** Describes why an input costs too much; undefined if it does not. */
export function judgeCosts({ tiny, quarter, half, full }: Costs): string | undefined {
  const highest = Math.max(quarter, half, full);
  if (highest > maxMicros) return `uses ${formatMs(highest)} ms of CPU, more than ${maxMicros / 1_000}`;
  const [first, second, third] = [quarter, half, full].map((each) => Math.max(each - tiny, 100)) as [
    number,
    number,
    number,
  ];
  const growsTooFast = third > maxGrowth * second && third > maxGrowth ** 2 * first;
  if (third >= minMicrosOfGrowth && growsTooFast)
    return `grows faster than its size: ${[first, second, third].map(formatMs).join(", ")} ms`;
  return undefined;
}

export function formatMs(micros: number): string {
  return (micros / 1_000).toFixed(1);
}
