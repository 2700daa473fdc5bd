import { formatUsd, type Micros } from "../lib/money.ts";
import { type MarginRow, readMargin } from "../usage/usage.ts";
import type { Command, CommandContext } from "./command.ts";
import { formatTable } from "./format-table.ts";
import { readOptionalCount } from "./read-values.ts";

export const marginCommand: Command = {
  usage: "[--days 30] [--json]",
  summary: "Show cost and revenue per upstream and UTC day, newest first.",
  options: { days: { type: "string" }, json: { type: "boolean" } },
  run: printMargin,
};

const dayMs = 86_400_000;

async function printMargin({ values, pool, print }: CommandContext): Promise<void> {
  const days = readOptionalCount(values, "days") ?? 30;
  const day = (ago: number): string => new Date(Date.now() - ago * dayMs).toISOString().slice(0, 10);
  const { rows, charged } = await readMargin(pool, { from: day(Math.min(days, 3_660) - 1), to: day(0) });
  if (values["json"]) return print(JSON.stringify({ rows: rows.map(toJson), charged: formatUsd(charged) }));
  if (rows.length === 0) return print("No upstream calls in this period.");
  print(formatTable(alignNumbers([heading, ...[...rows, ...totalsOf(rows)].map(toCells)])));
  print(`\nThe ledger charged ${formatUsd(charged)} USD for searches in this period, as far as usage is rolled up.`);
  print("The other figures are counted by the servers, which lose up to five seconds when they crash.");
}

const heading = ["day", "upstream", "calls", "failed", "revenue", "cost", "margin", "failure reasons"];
function alignNumbers(lines: readonly string[][]): string[][] {
  const width = (column: number): number => Math.max(...lines.map((line) => line[column]?.length ?? 0));
  return lines.map((line) =>
    line.map((cell, column) => (column > 1 && column < 7 ? cell.padStart(width(column)) : cell)),
  );
}

/** One total per upstream, and a grand total. */
function totalsOf(rows: readonly MarginRow[]): MarginRow[] {
  const byProvider = Map.groupBy(rows, ({ provider }) => provider);
  const totals = [...byProvider.keys()].toSorted().map((name) => sum(name, byProvider.get(name) ?? []));
  return [...totals, sum("all", rows)];
}

function sum(provider: string, rows: readonly MarginRow[]): MarginRow {
  const total: MarginRow = { day: "total", provider, calls: 0, failures: {}, cost: 0n, revenue: 0n };
  for (const row of rows) {
    total.calls += row.calls;
    total.cost += row.cost;
    total.revenue += row.revenue;
    for (const [reason, count] of Object.entries(row.failures)) {
      total.failures[reason] = (total.failures[reason] ?? 0) + count;
    }
  }
  return total;
}

function toCells({ day, provider, calls, failures, cost, revenue }: MarginRow): string[] {
  const reasons = Object.entries(failures).map(([reason, count]) => `${reason} ${count}`);
  return [day, provider, String(calls), failureRate({ calls, failures }), ...usd(revenue, cost), reasons.join(", ")];
}

const usd = (revenue: Micros, cost: Micros): string[] => [revenue, cost, revenue - cost].map(formatUsd);

/** Calls aborted by the caller count neither as failed nor as successful. */
function failureRate({ calls, failures }: Pick<MarginRow, "calls" | "failures">): string {
  const aborted = failures["aborted"] ?? 0;
  const failed = Object.values(failures).reduce((total, count) => total + count, 0) - aborted;
  return calls > aborted ? `${((100 * failed) / (calls - aborted)).toFixed(1)} %` : "-";
}

function toJson({ cost, revenue, ...row }: MarginRow) {
  return { ...row, cost: formatUsd(cost), revenue: formatUsd(revenue), margin: formatUsd(revenue - cost) };
}
