import type { ChaosOptions } from "./read-options.ts";
import type { ChaosResult } from "./run-chaos.ts";

/** The tables in docs/reliability.md. */
export function formatResult(options: ChaosOptions, result: ChaosResult): string {
  const { audited, injection, callers, owners } = result;
  const { counts } = audited;
  const sum = (counters: Map<string, number>): number => [...counters.values()].reduce((a, b) => a + b, 0);
  const facts: [string, string | number][] = [
    ["Seed", options.seed],
    [
      "Settings of Patroni",
      `${options.isFast ? "fast profile" : "as shipped"}${options.etcd ? `, etcd ${options.etcd}` : ""}`,
    ],
    ["Duration", `${Math.round(result.seconds)} s`],
    ["Searches sent", callers.searches],
    ["Paid, each once", counts.charged - counts.lost],
    ["Paid, and not in the ledger", counts.lost],
    ["Replayed free", counts.replayed],
    ["Rejected or failed, not charged", counts.errors],
    ["Closed without an answer, charged once", counts.closedCharged],
    ["Closed without an answer, not charged", counts.closedFree],
    ["Callers that disconnected, at one of six stages", sum(callers.disconnects)],
    [`Faults injected, of ${injection.kinds.size} kinds`, sum(injection.kinds)],
    ["Kills (-9)", injection.extras.get("kills") ?? 0],
    [
      "Acknowledged top-ups, keys, budgets, revocations",
      `${owners.topUps}, ${owners.keysCreated}, ${owners.budgetsChanged}, ${owners.keysRevoked}`,
    ],
    ["Recovery after the last fault", recovery(result)],
    ["Replicas copied again", result.copiedReplicas],
    ["Snapshots of all wallets, none below zero", result.snapshots],
    ["Violations", audited.violations.length],
  ];
  return [
    ...failoverTable(result),
    table(["Result", "Value"], facts),
    "",
    table(["Fault", "Count"], [...injection.kinds].toSorted(byName)),
    "",
    table(["Answer", "Count"], [...callers.statuses].toSorted(byName)),
    ...Object.entries(injection.skipped).map(([kind, reason]) => `\nSkipped ${kind}: ${reason}.`),
  ].join("\n");
}

function recovery({ recoveredMs }: ChaosResult): string {
  return recoveredMs === undefined ? "none" : `${(recoveredMs / 1_000).toFixed(1)} s`;
}

/** The duration of each failover. A lost acknowledgement would be among the violations. */
function failoverTable({ failovers }: ChaosResult): string[] {
  if (failovers.length === 0) return [];
  const seconds = (value: number): string => `${(value / 1_000).toFixed(1)} s`;
  return [
    "| Fault | Another node promoted | First paid search | Three nodes again | Failed searches |",
    "|---|---:|---:|---:|---:|",
    ...failovers.map(
      ({ kind, promotedMs, paidMs, wholeMs, failedSearches }) =>
        `| ${kind} | ${seconds(promotedMs)} | ${seconds(paidMs)} | ${seconds(wholeMs)} | ${failedSearches} |`,
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
