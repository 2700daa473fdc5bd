import { encodeExplanation, explainRanking } from "./explain-ranking.ts";
import type { Lens } from "./lens.ts";
import type { Rankable } from "./order-pages.ts";
import { rank } from "./rank.ts";

export { canonicalPage } from "./canonical-url.ts";
export { explainRanking, type Reason } from "./explain-ranking.ts";
export { buildLenses, type Lens } from "./lens.ts";
export type { RegistryInfo } from "./parse-registry.ts";
export { domainName, type Rule } from "./parse-rule.ts";

export interface Ranking {
  rank<Result extends Rankable>(search: RankingInput<Result>): Ranked<Result>;
}

export interface RankingInput<Result extends Rankable> {
  results: readonly Result[];
  n: number;
  query: string;
  category?: string | undefined;
  /** Whether published lists of domains count. Default: true. */
  hasRegistries?: boolean;
}

export interface Ranked<Result> {
  results: Result[];
  /** Value of the Rank-Lens header, such as `programming@2026-11-15.1`, or `base@2026-11-15.1;registries=0`. */
  lens: string;
  /** Value of the Rank-Explain header. Computed on demand, because it costs as much as the ranking. */
  explain: () => string;
}

/** `currentLenses` is called for each search, so that lenses can be reloaded. It must include a lens named base. */
export function createRanking(currentLenses: () => ReadonlyMap<string, Lens>): Ranking {
  function choose(category: string | undefined): Lens {
    const lenses = currentLenses();
    const lens = lenses.get(category ?? "base") ?? lenses.get("base");
    if (lens === undefined) throw new Error("there is no lens named base");
    return lens;
  }

  return {
    rank({ category, hasRegistries = true, ...search }) {
      const chosen = choose(category);
      const lens = hasRegistries ? chosen : chosen.withoutRegistries;
      return {
        results: rank({ ...search, lens }),
        lens: `${lens.name}@${lens.version}${hasRegistries ? "" : ";registries=0"}`,
        explain: () => encodeExplanation(explainRanking({ ...search, lens })),
      };
    },
  };
}
