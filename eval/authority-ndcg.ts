/**
 * How much credibility the first ten results hold, as a part of the most they could hold.
 *
 * A result rated r gains 2^(r-1) - 1: nothing for 1, 15 for 5, each step worth about twice the one before. The gain at
 * place p is divided by log2(p + 1). The best order is that of all rated results of the query, also of those beyond the
 * candidates: so 20 and 40 candidates are measured with one ruler, and with 20 even a perfect order stays below 1.
 */
export function authorityNdcg({ shown, all }: { shown: readonly number[]; all: readonly number[] }): number {
  const best = discountedGain(all.toSorted((a, b) => b - a));
  return best === 0 ? 1 : discountedGain(shown) / best;
}

const depth = 10;

function discountedGain(ratings: readonly number[]): number {
  return ratings.slice(0, depth).reduce((sum, rating, index) => sum + gain(rating) / Math.log2(index + 2), 0);
}

function gain(rating: number): number {
  return 2 ** (rating - 1) - 1;
}
