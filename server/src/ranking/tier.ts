/** Authority of a source on its subject, from primary source (A) to last resort (E). */
export type Tier = "A" | "B" | "C" | "N" | "D" | "E";

/** Value of each tier in the score. A page without a rule is N: most of the web is unknown, not bad. */
export const tierValues: Readonly<Record<Tier, number>> = { A: 1, B: 0.8, C: 0.65, N: 0.4, D: 0.25, E: 0.1 };

export function isTier(text: string): text is Tier {
  return Object.hasOwn(tierValues, text);
}

export function lowerTier(one: Tier, other: Tier): Tier {
  return tierValues[one] < tierValues[other] ? one : other;
}

export function higherTier(one: Tier, other: Tier): Tier {
  return tierValues[one] > tierValues[other] ? one : other;
}
