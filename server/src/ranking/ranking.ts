import { encodeExplanation, explainRanking } from "./explain-ranking.ts";
import type { Lens } from "./lens.ts";
import type { Rankable } from "./order-pages.ts";
import { rank } from "./rank.ts";

export { explainRanking, type Reason } from "./explain-ranking.ts";
export { buildLenses, type Lens } from "./lens.ts";

export interface Ranking {
  rank<Result extends Rankable>(question: RankingQuestion<Result>): Ranked<Result>;
}

export interface RankingQuestion<Result extends Rankable> {
  results: readonly Result[];
  n: number;
  query: string;
  category?: string | undefined;
}

export interface Ranked<Result> {
  results: Result[];
  /** For the header Rank-Lens, as in `programming@2026-11-15.1`. */
  lens: string;
  /** For the header Rank-Explain. Worked out when asked, as it costs as much as the ranking. */
  explain: () => string;
}

/** Asked anew for each search, so that lenses can be exchanged while the server runs. There must be one named base. */
export function createRanking(currentLenses: () => ReadonlyMap<string, Lens>): Ranking {
  function choose(category: string | undefined): Lens {
    const lenses = currentLenses();
    const lens = lenses.get(category ?? "base") ?? lenses.get("base");
    if (lens === undefined) throw new Error("there is no lens named base");
    return lens;
  }

  return {
    rank({ category, ...question }) {
      const lens = choose(category);
      return {
        results: rank({ ...question, lens }),
        lens: `${lens.name}@${lens.version}`,
        explain: () => encodeExplanation(explainRanking({ ...question, lens })),
      };
    },
  };
}
