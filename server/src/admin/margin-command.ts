import { formatUsd, type Micros } from "../lib/money.ts";
import { type MarginRow, readMargin } from "../usage/usage.ts";
import type { Command, CommandContext } from "./command.ts";
import { formatTable } from "./format-table.ts";
import { readOptionalCount } from "./read-values.ts";

export const marginCommand: Command = {
  usage: "[--days 30] [--json]",
  summary: "What each upstream cost and brought, by day (UTC), newest first.",
  options: { days: { type: "string" }, json: { type: "boolean" } },
  run: showMargin,
};

const dayMs = 86_400_000;

async function showMargin({ values, pool, print }: CommandContext): Promise<void> {
  const days = readOptionalCount(values, "days") ?? 30;
  const day = (ago: number): string => new Date(Date.now() - ago * dayMs).toISOString().slice(0, 10);
  const { rows, charged } = await readMargin(pool, { from: day(Math.min(days, 3_660) - 1), to: day(0) });
  if (values["json"]) return print(JSON.stringify({ rows: rows.map(toJson), charged: formatUsd(charged) }));
  if (rows.length === 0) return print("No upstream was called in these days.");
  print(formatTable(alignNumbers([heading, ...[...rows, ...sumsOf(rows)].map(toCells)])));
  print(`\nThe ledger charged ${formatUsd(charged)} USD for searches of these days, as far as usage is counted.`);
  print("The rest is counted by the servers: one that dies loses its last five seconds.");
}

const heading = ["day", "upstream", "calls", "failed", "revenue", "cost", "margin", "why it failed"];

/** To the right, so that a person can compare them down the column. */
function alignNumbers(lines: readonly string[][]): string[][] {
  const width = (column: number): number => Math.max(...lines.map((line) => line[column]?.length ?? 0));
  return lines.map((line) =>
    line.map((cell, column) => (column > 1 && column < 7 ? cell.padStart(width(column)) : cell)),
  );
}

/** One line for each upstream, and one for all. */
function sumsOf(rows: readonly MarginRow[]): MarginRow[] {
  const providers = [...new Set(rows.map(({ provider }) => provider))].toSorted();
  const sums = providers.map((name) =>
    sum(
      name,
      rows.filter(({ provider }) => provider === name),
    ),
  );
  return [...sums, sum("all", rows)];
}

function sum(provider: string, rows: readonly MarginRow[]): MarginRow {
  const total: MarginRow = { day: "total", provider, calls: 0, failures: {}, cost: 0n, revenue: 0n };
  for (const row of rows) {
    total.calls += row.calls;
    total.cost += row.cost;
    total.revenue += row.revenue;
    for (const [reason, times] of Object.entries(row.failures)) {
      total.failures[reason] = (total.failures[reason] ?? 0) + times;
    }
  }
  return total;
}

function toCells({ day, provider, calls, failures, cost, revenue }: MarginRow): string[] {
  const reasons = Object.entries(failures).map(([reason, times]) => `${reason} ${times}`);
  return [day, provider, String(calls), failureRate({ calls, failures }), ...usd(revenue, cost), reasons.join(", ")];
}

const usd = (revenue: Micros, cost: Micros): string[] => [revenue, cost, revenue - cost].map(formatUsd);

/** Who was left by the caller did not fail, and cannot be said to have succeeded. */
function failureRate({ calls, failures }: Pick<MarginRow, "calls" | "failures">): string {
  const aborted = failures["aborted"] ?? 0;
  const failed = Object.values(failures).reduce((all, times) => all + times, 0) - aborted;
  return calls > aborted ? `${((100 * failed) / (calls - aborted)).toFixed(1)} %` : "-";
}

function toJson({ cost, revenue, ...row }: MarginRow) {
  return { ...row, cost: formatUsd(cost), revenue: formatUsd(revenue), margin: formatUsd(revenue - cost) };
}
