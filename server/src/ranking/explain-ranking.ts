import type { Lens } from "./lens.ts";
import { mergeDuplicates } from "./merge-duplicates.ts";
import { orderPages, type Rankable, type RankedPage } from "./order-pages.ts";
import type { RankInput } from "./rank.ts";
import type { Tier } from "./tier.ts";

export interface Reason {
  /** Counted from 1, as is the upstream's. */
  place: number;
  upstreamRank: number;
  tier: Tier;
  why: string;
  score: number;
  isNavigational: boolean;
  move: "copy" | "third-of-site" | "anchor" | undefined;
}

/** Why each of the results of `rank` with the same input is where it is. Costs as much again, so only on request. */
export function explainRanking<Result extends Rankable>(
  input: RankInput<Result> & { lens: Lens; query: string },
): Reason[] {
  return orderPages({ ...input, pages: mergeDuplicates(input.results) }).map(toReason);
}

function toReason<Result>(page: RankedPage<Result>, index: number): Reason {
  const { upstreamRank, verdict, score, isNavigational, move } = page;
  return { place: index + 1, upstreamRank, ...verdict, score, isNavigational, move };
}

const mostBytes = 4_096;

/**
 * A structured list (RFC 9651) for a header, one member for each result, in order:
 *
 *   1;from=4;tier=A;why=government;score=0.919, 2;from=1;tier=N;why=unlisted;score=0.790;navigational
 *
 * `from` is the place that the upstream gave it. If the list would grow beyond 4,096 bytes, its end is left out and the
 * last member tells how much: `more;count=3`.
 */
export function encodeExplanation(reasons: readonly Reason[]): string {
  const members = reasons.map(encodeReason);
  const whole = members.join(", ");
  if (whole.length <= mostBytes) return whole;
  const roomForCount = ", more;count=".length + String(members.length).length;
  let length = 0;
  const fitting = members.findIndex((member) => {
    length += member.length + 2;
    return length - 2 + roomForCount > mostBytes;
  });
  return [...members.slice(0, fitting), `more;count=${members.length - fitting}`].join(", ");
}

function encodeReason({ place, upstreamRank, tier, why, score, isNavigational, move }: Reason): string {
  const moves = [...(isNavigational ? ["navigational"] : []), ...(move === undefined ? [] : [move])];
  const facts = [`from=${upstreamRank}`, `tier=${tier}`, `why=${why}`, `score=${score.toFixed(3)}`, ...moves];
  return [String(place), ...facts].join(";");
}
