/**
 * nDCG@10 with credibility ratings as gains.
 *
 * A result rated r gains 2^(r-1) - 1 (0 for 1, 15 for 5), and the gain at position p is divided by log2(p + 1). The
 * ideal order uses all rated results of the query, including those beyond the candidates. This makes scores for 20 and
 * 40 candidates comparable, but with 20 even a perfect order can score below 1.
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
