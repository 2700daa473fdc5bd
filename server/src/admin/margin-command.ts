import { formatTable } from "../lib/format-table.ts";
import { formatUsd, type Micros } from "../lib/money.ts";
import { type MarginRow, readMargin, readWalletMargin, type WalletMarginRow } from "../usage/usage.ts";
import type { Command, CommandContext } from "./command.ts";
import { readOptionalCount } from "./read-values.ts";

export const marginCommand: Command = {
  role: "operator",
  summary:
    "Show cost and revenue per upstream and UTC day, newest first, and of the wallets with the most unpaid cost.",
  options: ["--days <days>", "--json"],
  run: printMargin,
};

const dayMs = 86_400_000;

async function printMargin({ values, pool, print }: CommandContext): Promise<void> {
  const days = readOptionalCount(values, "days") ?? 30;
  const day = (ago: number): string => new Date(Date.now() - ago * dayMs).toISOString().slice(0, 10);
  const period = { from: day(Math.min(days, 3_660) - 1), to: day(0) };
  const { rows, charged } = await readMargin(pool, period);
  const wallets = await readWalletMargin(pool, { ...period, order: "unpaid", limit: 10 });
  if (values["json"]) {
    const json = { rows: rows.map(toJson), wallets: wallets.map(toWalletJson), charged: formatUsd(charged) };
    return print(JSON.stringify(json));
  }
  if (rows.length === 0) return print("No upstream calls in this period.");
  print(formatTable(alignNumbers([heading, ...[...rows, ...totalsOf(rows)].map(toCells)])));
  if (wallets.length > 0) print(`\n${formatTable(alignNumbers([walletHeading, ...wallets.map(toWalletCells)]))}`);
  print(`\nThe ledger charged ${formatUsd(charged)} USD for searches in this period, as far as usage is rolled up.`);
  print("Servers count the other figures, and lose up to five seconds of them in a crash.");
}

const money = ["revenue", "cost", "unpaid cost", "margin"];
const heading = ["day", "upstream", "calls", "failed", "unpaid", "abandoned", ...money, "failure reasons"];
const walletHeading = ["wallet", "", "calls", "", "unpaid", "abandoned", ...money];

function alignNumbers(lines: readonly string[][]): string[][] {
  const width = (column: number): number => Math.max(...lines.map((line) => line[column]?.length ?? 0));
  return lines.map((line) =>
    line.map((cell, column) => (column > 1 && column < 10 ? cell.padStart(width(column)) : cell)),
  );
}

/** One total per upstream, and a grand total. */
function totalsOf(rows: readonly MarginRow[]): MarginRow[] {
  const byProvider = Map.groupBy(rows, ({ provider }) => provider);
  const totals = [...byProvider.keys()].toSorted().map((name) => sum(name, byProvider.get(name) ?? []));
  return [...totals, sum("all", rows)];
}

function sum(provider: string, rows: readonly MarginRow[]): MarginRow {
  const calls = { calls: 0, unpaidCalls: 0, abandonedCalls: 0, failures: {} as Record<string, number> };
  const total: MarginRow = { day: "total", provider, ...calls, cost: 0n, paidCost: 0n, revenue: 0n };
  for (const row of rows) {
    total.calls += row.calls;
    total.unpaidCalls += row.unpaidCalls;
    total.abandonedCalls += row.abandonedCalls;
    total.cost += row.cost;
    total.paidCost += row.paidCost;
    total.revenue += row.revenue;
    for (const [reason, count] of Object.entries(row.failures)) {
      total.failures[reason] = (total.failures[reason] ?? 0) + count;
    }
  }
  return total;
}

function toCells(row: MarginRow): string[] {
  const reasons = Object.entries(row.failures).map(([reason, count]) => `${reason} ${count}`);
  return [row.day, row.provider, String(row.calls), failureRate(row), ...unpaid(row), ...usd(row), reasons.join(", ")];
}

function toWalletCells(row: WalletMarginRow): string[] {
  return [row.walletId, "", String(row.calls), "", ...unpaid(row), ...usd(row)];
}

function unpaid({ unpaidCalls, abandonedCalls }: Pick<MarginRow, "unpaidCalls" | "abandonedCalls">): string[] {
  return [String(unpaidCalls), String(abandonedCalls)];
}

interface Money {
  revenue: Micros;
  cost: Micros;
  paidCost: Micros;
}

function usd({ revenue, cost, paidCost }: Money): string[] {
  return [revenue, cost, cost - paidCost, revenue - cost].map(formatUsd);
}

/** Calls aborted by the caller count neither as failed nor as successful. */
function failureRate({ calls, failures }: Pick<MarginRow, "calls" | "failures">): string {
  const aborted = failures["aborted"] ?? 0;
  const failed = Object.values(failures).reduce((total, count) => total + count, 0) - aborted;
  return calls > aborted ? `${((100 * failed) / (calls - aborted)).toFixed(1)} %` : "-";
}

function toJson({ day, provider, failures, ...figures }: MarginRow) {
  return { day, provider, failures, ...figuresToJson(figures) };
}

function toWalletJson({ walletId, ...figures }: WalletMarginRow) {
  return { wallet_id: walletId, ...figuresToJson(figures) };
}

function figuresToJson({
  calls,
  unpaidCalls,
  abandonedCalls,
  revenue,
  cost,
  paidCost,
}: Omit<WalletMarginRow, "walletId">) {
  return {
    calls,
    unpaid_calls: unpaidCalls,
    abandoned_calls: abandonedCalls,
    revenue: formatUsd(revenue),
    cost: formatUsd(cost),
    unpaid_cost: formatUsd(cost - paidCost),
    margin: formatUsd(revenue - cost),
  };
}
