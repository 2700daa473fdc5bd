import type { Measure } from "./evaluate-relevance.ts";
import { formatInterval, percent } from "./format-report.ts";
import type { RelevanceRow } from "./measure-relevance.ts";

/** A table that can be pasted into docs/ranking.md. */
export function formatRelevance({
  title,
  rows,
  count,
}: {
  title: string;
  rows: readonly RelevanceRow[];
  count: number;
}) {
  return [
    "",
    `Relevance over ${count} ${title}: mean reciprocal rank and success at 1, 3 and 10, with the change against the`,
    "upstream order and its 95% interval, and the queries whose first ten results change order.",
    "",
    "| System | MRR | change | at 1 | change | at 3 | change | at 10 | change | order changes |",
    "|---|---|---|---|---|---|---|---|---|---|",
    ...rows.map(formatRow),
  ].join("\n");
}

function formatRow({ name, score: { mrr, success1, success3, success10, changedOrder } }: RelevanceRow): string {
  const isBaseline = name === "upstream order";
  const cells = [mrr, success1, success3, success10].flatMap(({ mean, change }: Measure) => [
    mean.toFixed(3),
    isBaseline ? "" : formatInterval(change),
  ]);
  return `| ${[name, ...cells, isBaseline ? "" : percent(changedOrder, 0)].join(" | ")} |`;
}
