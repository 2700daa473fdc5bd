// Reads the header Rank-Explain, and does the arithmetic of docs/ranking.md again, so that a person can follow it.

const authorities = { A: 1, B: 0.8, C: 0.65, N: 0.4, D: 0.25, E: 0.1 } as const;

export type Tier = keyof typeof authorities;

export const tierWords: Record<Tier, string> = {
  A: "A primary source",
  B: "Established",
  C: "Reputable",
  N: "Neutral: no rule names it",
  D: "Weak evidence",
  E: "Last",
};

export interface Reason {
  place: number;
  /** Where the upstream had it, counted from 1. */
  from: number;
  tier: Tier;
  /** The rule's reason, in words. */
  why: string;
  score: number;
  /** What a guard did: navigational, anchor, copy, third-of-site. */
  guards: string[];
}

/** `1;from=4;tier=A;why=government;score=0.919, 2;from=1;...`. What did not fit into the header is not there. */
export function readExplanation(header: string | null): Reason[] {
  return (header ?? "").split(",").flatMap((member) => {
    const [place, ...parameters] = member.trim().split(";");
    const given = new Map(parameters.map((parameter) => splitOnce(parameter)));
    const tier = given.get("tier");
    if (!isTier(tier) || !/^\d+$/.test(place ?? "")) return [];
    return [
      {
        place: Number(place),
        from: Number(given.get("from")),
        tier,
        why: (given.get("why") ?? "").replaceAll("-", " "),
        score: Number(given.get("score")),
        guards: [...given].filter(([, value]) => value === undefined).map(([name]) => name),
      },
    ];
  });
}

/** Rel, Auth and their weights. Auth of a site that the query names is at least 0.90; its score tells which. */
export function explainScore(reason: Reason, lambda: number): { rel: number; auth: number } {
  const rel = 21 / (20 + reason.from);
  const auth: number = authorities[reason.tier];
  if (!reason.guards.includes("navigational") || auth === 1) return { rel, auth };
  const solved = (reason.score - (1 - lambda) * rel) / lambda;
  return { rel, auth: solved > 0.95 ? 1 : 0.9 };
}

function splitOnce(parameter: string): [string, string | undefined] {
  const at = parameter.indexOf("=");
  return at === -1 ? [parameter, undefined] : [parameter.slice(0, at), parameter.slice(at + 1)];
}

function isTier(text: string | undefined): text is Tier {
  return text !== undefined && Object.hasOwn(authorities, text);
}
