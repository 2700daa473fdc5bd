// Parses the Rank-Explain header and repeats the arithmetic of docs/ranking.md.

const authorities = { A: 1, B: 0.8, C: 0.65, N: 0.4, D: 0.25, E: 0.1 } as const;

export type Tier = keyof typeof authorities;

export const tierDescriptions: Record<Tier, string> = {
  A: "Primary source",
  B: "Established",
  C: "Reputable",
  N: "Neutral: not listed by any rule",
  D: "Weak evidence",
  E: "Lowest",
};

export interface RankExplanation {
  rank: number;
  /** Rank in the upstream's response, from 1. */
  upstreamRank: number;
  tier: Tier;
  reason: string;
  score: number;
  /** Guards that applied: navigational, anchor, copy, third-of-site. */
  guards: string[];
}

/** `1;from=4;tier=A;why=government;score=0.919, 2;from=1;...`. Results that did not fit in the header are missing. */
export function parseExplanation(header: string | null): RankExplanation[] {
  return (header ?? "").split(",").flatMap((member) => {
    const [rank, ...parameters] = member.trim().split(";");
    const values = new Map(parameters.map((parameter) => splitOnce(parameter)));
    const tier = values.get("tier");
    if (!isTier(tier) || !/^\d+$/.test(rank ?? "")) return [];
    return [
      {
        rank: Number(rank),
        upstreamRank: Number(values.get("from")),
        tier,
        reason: (values.get("why") ?? "").replaceAll("-", " "),
        score: Number(values.get("score")),
        guards: [...values].filter(([, value]) => value === undefined).map(([name]) => name),
      },
    ];
  });
}

/** Rel and Auth. A site named in the query has an Auth of 0.90 or 1; which one follows from its score. */
export function explainScore(explanation: RankExplanation, lambda: number): { rel: number; auth: number } {
  const rel = 21 / (20 + explanation.upstreamRank);
  const auth: number = authorities[explanation.tier];
  if (!explanation.guards.includes("navigational") || auth === 1) return { rel, auth };
  const solved = (explanation.score - (1 - lambda) * rel) / lambda;
  return { rel, auth: solved > 0.95 ? 1 : 0.9 };
}

function splitOnce(parameter: string): [string, string | undefined] {
  const at = parameter.indexOf("=");
  return at === -1 ? [parameter, undefined] : [parameter.slice(0, at), parameter.slice(at + 1)];
}

function isTier(text: string | undefined): text is Tier {
  return text !== undefined && Object.hasOwn(authorities, text);
}
