import type { Lens } from "./lens.ts";
import { mergeDuplicates } from "./merge-duplicates.ts";
import { orderPages, type Rankable, type RankedPage } from "./order-pages.ts";
import type { RegistryInfo } from "./parse-registry.ts";
import type { RankInput } from "./rank.ts";
import type { Tier } from "./tier.ts";

export interface Reason {
  /** Counted from 1, like `upstreamRank`. */
  position: number;
  upstreamRank: number;
  tier: Tier;
  why: string;
  registry?: RegistryInfo;
  score: number;
  isNavigational: boolean;
  move: "copy" | "third-of-site" | "anchor" | undefined;
}

/** The reason for each result's position in `rank` with the same input. As expensive as ranking, so only on request. */
export function explainRanking<Result extends Rankable>(
  input: RankInput<Result> & { lens: Lens; query: string },
): Reason[] {
  return orderPages({ ...input, pages: mergeDuplicates(input.results) }).map(toReason);
}

function toReason<Result>(page: RankedPage<Result>, index: number): Reason {
  const { upstreamRank, verdict, score, isNavigational, move } = page;
  return { position: index + 1, upstreamRank, ...verdict, score, isNavigational, move };
}

const maxBytes = 4_096;

/**
 * Encodes the reasons as a structured list (RFC 9651) for a header, one member per result:
 *
 *   1;from=4;tier=A;why=government;score=0.919, 2;from=1;tier=N;why=unlisted;score=0.790;navigational
 *
 * `from` is the upstream's rank. If the tier comes from a registry, `list` is its name and `source` its URL. If the list
 * would exceed 4,096 bytes, it is truncated and the last member is the number of omitted results: `more;count=3`.
 */
export function encodeExplanation(reasons: readonly Reason[]): string {
  const members = reasons.map(encodeReason);
  const whole = members.join(", ");
  if (whole.length <= maxBytes) return whole;
  const countSuffixLength = ", more;count=".length + String(members.length).length;
  let length = 0;
  const fitting = members.findIndex((member) => {
    length += member.length + 2;
    return length - 2 + countSuffixLength > maxBytes;
  });
  return [...members.slice(0, fitting), `more;count=${members.length - fitting}`].join(", ");
}

function encodeReason({ position, upstreamRank, tier, why, registry, score, isNavigational, move }: Reason): string {
  const list = registry === undefined ? [] : [`list=${registry.name}`, `source="${registry.source}"`];
  const moves = [...(isNavigational ? ["navigational"] : []), ...(move === undefined ? [] : [move])];
  const facts = [`from=${upstreamRank}`, `tier=${tier}`, `why=${why}`, ...list, `score=${score.toFixed(3)}`, ...moves];
  return [String(position), ...facts].join(";");
}
