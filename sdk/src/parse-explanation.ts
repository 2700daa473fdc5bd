/** The explanation of a result's rank. docs/ranking.md has the arithmetic. */
export interface RankExplanation {
  /** The position of the result, from 1. */
  position: number;
  /** Its position in the response of the search provider, from 1. */
  upstreamRank: number;
  /** From "A", primary sources, to "E", the lowest. "N": not listed by any rule. */
  tier: "A" | "B" | "C" | "N" | "D" | "E";
  /** The rule that assigned the tier, such as "government" or "unlisted". */
  reason: string;
  /** The published list that the tier comes from. Undefined for hand-written rules. */
  list?: { name: string; url: string };
  /** From 0 to 1. Never rises in the order shown. */
  score: number;
  /** Guards that changed the score or the position, such as "coverage" or "third-of-site". docs/ranking.md lists them. */
  guards: string[];
}

/**
 * Parses `1;from=4;tier=A;why=government;score=0.919, 2;from=1;tier=N;why=unlisted;score=0.790;navigational`. Results that
 * did not fit in the header are missing.
 */
export function parseExplanation(header: string): RankExplanation[] {
  return header.split(",").flatMap((member) => {
    const [position = "", ...parameters] = member.trim().split(";");
    const values = new Map(parameters.filter((text) => text.includes("=")).map(splitOnce));
    const tier = values.get("tier") ?? "";
    if (!isTier(tier) || !/^\d+$/.test(position)) return [];
    return [
      {
        position: Number(position),
        upstreamRank: Number(values.get("from")),
        tier,
        reason: values.get("why") ?? "",
        ...readList(values),
        score: Number(values.get("score")),
        guards: parameters.filter((text) => !text.includes("=")),
      },
    ];
  });
}

function readList(values: ReadonlyMap<string, string>): Pick<RankExplanation, "list"> {
  const name = values.get("list");
  return name === undefined ? {} : { list: { name, url: (values.get("source") ?? "").replaceAll('"', "") } };
}

function splitOnce(parameter: string): [name: string, value: string] {
  const at = parameter.indexOf("=");
  return [parameter.slice(0, at), parameter.slice(at + 1)];
}

function isTier(text: string): text is RankExplanation["tier"] {
  return /^[ABCNDE]$/.test(text);
}
