import { addFigures, type Series, type SeriesDay } from "./margin-figures.ts";
import type { MarginFigures, MarginReport, WalletMargin } from "./queries.ts";

export type Grouping = "upstream" | "wallet";

/** A row of the table: an upstream or a wallet. */
export interface MarginLine extends MarginFigures, Series {
  /** Undefined if it has no separate bars. */
  color: number | undefined;
}

export interface GroupedMargin {
  lines: MarginLine[];
  /** The parts of the bars. */
  series: (Series & { color: number })[];
  rows: SeriesDay[];
}

const othersId = "others";
/** Gray. */
const othersColor = 7;

export function groupMargin(report: MarginReport, grouping: Grouping): GroupedMargin {
  return grouping === "upstream" ? groupByUpstream(report) : groupByWallet(report);
}

/** The highest revenue first. */
function groupByUpstream({ days }: MarginReport): GroupedMargin {
  const byName = Map.groupBy(days, ({ provider }) => provider);
  const lines = [...byName]
    .map(([name, own]) => ({ id: name, name, ...addFigures(own) }))
    .toSorted((a, b) => Number(b.revenue) - Number(a.revenue) || a.name.localeCompare(b.name))
    .map((line, color) => ({ ...line, color: color % othersColor }));
  return { lines, series: lines, rows: days.map((row) => ({ ...row, seriesId: row.provider })) };
}

/** The highest cost first, as the server lists them. Only the first wallets have separate bars. */
function groupByWallet(report: MarginReport): GroupedMargin {
  const rows = report.wallet_days.map((row) => ({ ...row, seriesId: row.wallet_id ?? othersId }));
  const ids = new Set(rows.map(({ seriesId }) => seriesId));
  const lines = report.wallets.map((wallet, index) => toLine(wallet, ids.has(wallet.wallet_id) ? index : undefined));
  const series = lines.flatMap((line) => (line.color === undefined ? [] : [{ ...line, color: line.color }]));
  const others = ids.has(othersId) ? [{ id: othersId, name: "Other wallets", color: othersColor }] : [];
  return { lines, series: [...series, ...others], rows };
}

export function toLine({ wallet_id: id, name, ...figures }: WalletMargin, color?: number): MarginLine {
  return { id, name: name || id, color, ...figures };
}
