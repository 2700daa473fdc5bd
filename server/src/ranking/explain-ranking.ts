import type { Lens } from "./lens.ts";
import { mergeDuplicates } from "./merge-duplicates.ts";
import { type Guard, orderPages, type Rankable, type RankedPage } from "./order-pages.ts";
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
  /** From 0 to 1. Never rises in the order shown. */
  score: number;
  guards: readonly Guard[];
}

/** The reason for each result's position in `rank` with the same input. As expensive as ranking, so only on request. */
export function explainRanking<Result extends Rankable>(
  input: RankInput<Result> & { lens: Lens; query: string },
): Reason[] {
  let lowest = 1;
  return orderPages({ ...input, pages: mergeDuplicates(input.results) }).map((page, index) => {
    // A page that a guard moved to the end can have a better score than those above it.
    lowest = Math.min(lowest, page.score);
    return toReason(page, { position: index + 1, score: lowest });
  });
}

function toReason<Result>(page: RankedPage<Result>, shown: { position: number; score: number }): Reason {
  const { upstreamRank, verdict, guards } = page;
  return { ...shown, upstreamRank, ...verdict, guards };
}

const maxBytes = 4_096;

/**
 * Encodes the reasons as a structured list (RFC 9651) for a header, one member per result:
 *
 *   1;from=4;tier=A;why=government;score=0.919, 2;from=1;tier=N;why=unlisted;score=0.790;anchor
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

function encodeReason({ position, upstreamRank, tier, why, registry, score, guards }: Reason): string {
  const list = registry === undefined ? [] : [`list=${registry.name}`, `source="${registry.source}"`];
  const facts = [`from=${upstreamRank}`, `tier=${tier}`, `why=${why}`, ...list, `score=${score.toFixed(3)}`, ...guards];
  return [String(position), ...facts].join(";");
}
