import type { SearchAnswer } from "@pennyblack/sdk";
import { harmless, type Terminal, wrap } from "./terminal.ts";

export function showResults({ results }: SearchAnswer, { paint, width }: Terminal): string {
  if (results.length === 0) return "No results. The search itself worked.";
  return results
    .map(({ title, url, snippet }, index) => {
      const number = `${index + 1}.`.padEnd(4);
      const lines = [number + paint("bold", harmless(title)), `    ${paint("cyan", harmless(url))}`];
      return [...lines, ...(snippet === "" ? [] : [wrap(harmless(snippet), width, "    ")])].join("\n");
    })
    .join("\n\n");
}

/** `1;from=3;tier=A;why=documentation, 2;...`, a line for each result. */
export function showExplanation({ meta }: SearchAnswer): string {
  if (meta.explanation === undefined) return "\nWhy: this server does not say.";
  const lines = harmless(meta.explanation).split(", ");
  return ["\nWhy:", ...lines.map((line) => `  ${line.replaceAll(";", "  ")}`)].join("\n");
}

/** What it cost and how to speak about it. Goes to stderr, so that a pipe gets the results alone. */
export function showMeta({ n, meta }: SearchAnswer, { paint }: Terminal): string {
  const charge = meta.replayed ? "answered before, not charged again" : `${meta.charge} USD`;
  const parts = [
    `${n} ${n === 1 ? "result" : "results"}`,
    charge,
    ...(meta.balance === undefined ? [] : [`balance ${meta.balance} USD`]),
    ...(meta.lens === undefined ? [] : [`lens ${meta.lens}`]),
    `request ${meta.requestId}`,
  ];
  return paint("dim", parts.join(" · "));
}
