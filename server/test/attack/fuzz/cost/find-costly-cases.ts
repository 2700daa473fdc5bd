import { type Costs, fractions, judgeCosts, maxMicros, minMicrosOfGrowth } from "./judge-costs.ts";

export interface CostCase<Sent> {
  /** "GET /v1/keys: the header cookie, spaces" */
  name: string;
  /** The largest size of the part that varies, in bytes. */
  limit: number;
  /** The input with a part of at most `size` bytes. */
  build(size: number): Sent;
}

/** Returns the CPU time that the server used for the input, in microseconds. */
export type MeasureCost<Sent> = (input: Sent) => Promise<number>;

export interface CostlyCase<Sent> {
  case: CostCase<Sent>;
  costs: Costs;
  fault: string;
}

const tinySize = 8;
const repetitions = 3;
/** A suspicious input is repeated more often, because a busy machine makes it look more expensive. */
const repetitionsOfSuspicious = 9;
/** An input that costs this much is too expensive on any machine. */
const certainMicros = 10 * maxMicros;

/**
 * Measures each case at several sizes and returns those that cost too much. Each screened size is measured once; only a
 * case that looks too expensive is repeated, and the smallest measurement of each size decides.
 */
export async function* findCostlyCases<Sent>(
  cases: Iterable<CostCase<Sent>>,
  measure: MeasureCost<Sent>,
  screened: readonly (keyof Costs)[] = ["quarter", "half", "full"],
): AsyncGenerator<CostlyCase<Sent>> {
  for (const each of cases) {
    const costly = await measureCase(each, measure, screened);
    if (costly) yield costly;
  }
}

async function measureCase<Sent>(
  each: CostCase<Sent>,
  measure: MeasureCost<Sent>,
  screened: readonly (keyof Costs)[],
): Promise<CostlyCase<Sent> | undefined> {
  const costs: Costs = { tiny: Infinity, quarter: Infinity, half: Infinity, full: Infinity };
  const repeat = async (sizes: readonly (keyof Costs)[], times: number): Promise<void> => {
    for (const size of sizes) {
      const bytes = Math.max(tinySize, Math.floor(each.limit * fractions[size]));
      for (let count = 0; count < times; count += 1)
        costs[size] = Math.min(costs[size], await measure(each.build(bytes)));
    }
  };
  const all = ["tiny", "quarter", "half", "full"] as const;
  await repeat(screened, 1);
  if (screened.every((size) => costs[size] < minMicrosOfGrowth)) return undefined;
  // Each step repeats only what still looks too expensive.
  await repeat(
    all.filter((size) => costs[size] === Infinity),
    1,
  );
  for (const times of [repetitions - 1, repetitionsOfSuspicious - repetitions]) {
    if (judgeCosts(costs) === undefined) return undefined;
    if (Math.max(costs.quarter, costs.half, costs.full) < certainMicros) await repeat(all, times);
  }
  const fault = judgeCosts(costs);
  return fault === undefined ? undefined : { case: each, costs, fault };
}

/** For an input without a size, such as a generated one: returns the smallest cost if it is too high. */
export async function findCost<Sent>(input: Sent, measure: MeasureCost<Sent>): Promise<number | undefined> {
  let smallest = Infinity;
  for (let count = 0; count < repetitionsOfSuspicious; count += 1) {
    smallest = Math.min(smallest, await measure(input));
    if (smallest <= maxMicros) return undefined;
  }
  return smallest;
}
