import type { SearchAnswer } from "@pennyblack/sdk";
import { formatRank } from "./format-rank.ts";
import { sanitize, type Terminal, wrap } from "./terminal.ts";

export function formatResults({ results }: SearchAnswer, { paint, width }: Terminal): string {
  if (results.length === 0) return "No results found.";
  return results
    .map(({ title, url, snippet }, index) => {
      const number = `${index + 1}.`.padEnd(4);
      const lines = [number + paint("bold", sanitize(title)), `    ${paint("cyan", sanitize(url))}`];
      return [...lines, ...(snippet === "" ? [] : [wrap(sanitize(snippet), width, "    ")])].join("\n");
    })
    .join("\n\n");
}

/** One paragraph per result. */
export function formatExplanation({ meta, results }: SearchAnswer, { width }: Terminal): string {
  const { explanation } = meta;
  if (explanation === undefined) return "\nRanking: not provided by this server.";
  const sources = results.map(({ source }) => source);
  return ["\nRanking:", ...explanation.map((rank) => wrap(formatRank(rank, sources), width, "  "))].join("\n");
}

/** The charge and the request ID. Printed to stderr, so that a pipe receives only the results. */
export function formatMeta({ n, meta }: SearchAnswer, { paint }: Terminal): string {
  const charge = meta.replayed ? "replayed, not charged again" : `${meta.charge} USD`;
  const fields = [
    `${n} ${n === 1 ? "result" : "results"}`,
    ...(meta.filtered ? [`${meta.filtered} removed by the source policy`] : []),
    charge,
    ...(meta.balance === undefined ? [] : [`balance ${meta.balance} USD`]),
    ...(meta.run ? [`run ${sanitize(meta.run.id)}: ${formatBudget(meta.run)}`] : []),
    ...(meta.endUserBudget ? [`end user: ${formatBudget(meta.endUserBudget)}`] : []),
    ...meta.keyBudgets.map((budget) => `key budget, ${budget.period}: ${formatBudget(budget)}`),
    ...(meta.lens === undefined ? [] : [`lens ${meta.lens}`]),
    `request ${meta.requestId}`,
  ];
  return paint("dim", fields.join(" · "));
}

function formatBudget({ spent, left }: { spent: string; left: string }): string {
  return `${spent} USD spent, ${left} USD left`;
}
