import type { ChaosOptions } from "./read-options.ts";
import type { ChaosResult } from "./run-chaos.ts";

/** As docs/reliability.md shows it. */
export function formatResult(options: ChaosOptions, result: ChaosResult): string {
  const { auditResult, drawing, callers, owners } = result;
  const { counts } = auditResult;
  const left = [...callers.left.values()].reduce((sum, count) => sum + count, 0);
  const facts: [string, string | number][] = [
    ["Seed", options.seed],
    ["Duration", `${Math.round(result.seconds)} s`],
    ["Searches sent", callers.searches],
    ["Paid, each once", counts.charged],
    ["Replayed free", counts.replayed],
    ["Refused or failed, nothing charged", counts.errors],
    ["Closed without an answer, charged once", counts.closedCharged],
    ["Closed without an answer, not charged", counts.closedFree],
    ["Callers that hung up, at one of six stages", left],
    ["Faults injected", [...drawing.kinds.values()].reduce((sum, count) => sum + count, 0)],
    ["Kills (-9)", drawing.extras.get("kills") ?? 0],
    [
      "Acknowledged top-ups, keys, budgets, revocations",
      `${owners.topUps}, ${owners.keysMade}, ${owners.budgetsChanged}, ${owners.keysRevoked}`,
    ],
    ["Snapshots of all wallets, none below zero", auditResult.snapshots],
    ["Violations", auditResult.faults.length],
  ];
  return [
    ...failoverTable(result),
    table(["", ""], facts),
    "",
    table(["Fault", "Times"], [...drawing.kinds].toSorted(byName)),
    "",
    table(["Answer", "Times"], [...callers.statuses].toSorted(byName)),
    ...Object.entries(drawing.skipped).map(([kind, why]) => `\nSkipped ${kind}: ${why}.`),
  ].join("\n");
}

/** How long each failover took, kill to kill. A lost acknowledgement would be among the violations. */
function failoverTable({ failovers }: ChaosResult): string[] {
  if (failovers.length === 0) return [];
  const ms = (value: number): string => `${(value / 1_000).toFixed(2)} s`;
  return [
    "| kill -9 of the primary | replica promoted | first paid search | new replica in step |",
    "|---:|---:|---:|---:|",
    ...failovers.map(
      ({ promotedMs, paidMs, rebuiltMs }, index) =>
        `| ${index + 1} | ${ms(promotedMs)} | ${ms(paidMs)} | ${ms(rebuiltMs)} |`,
    ),
    "",
  ];
}

function table(head: [string, string], rows: [string, string | number][]): string {
  const line = ([name, value]: [string, string | number]): string => `| ${name} | ${value.toLocaleString("en")} |`;
  return [line(head), "|---|---:|", ...rows.map(line)].join("\n");
}

function byName([left]: [string, number], [right]: [string, number]): number {
  return left < right ? -1 : 1;
}
