import { formatTable } from "../lib/format-table.ts";
import { formatUsd, type Micros, parseUsd } from "../lib/money.ts";
import { findStart, formatFound } from "../operator/operator.ts";
import { encodeStatus, summarizeCells, writeStatusFiles } from "../status/status.ts";
import {
  type CellReconciliation,
  type CellTransfer,
  findInCell,
  readCellCounts,
  readCellMargin,
  readCellReconciliation,
  readCellStatus,
  readCellTransfers,
} from "./cell-reports.ts";
import { type FleetCell, FleetFault } from "./operator-client.ts";

/** The text to print, and whether every cell was reached and needs no attention. */
export interface Report {
  text: string;
  isHealthy: boolean;
}

/** Version, load, customer balance and open problems of every cell. */
export async function status(cells: readonly FleetCell[]): Promise<Report> {
  const statuses = await Promise.all(cells.map(readCellStatus));
  const rows = statuses.map((cell) => {
    if (cell.fault !== null) return [cell.name, "", "", "", "", "", cell.fault];
    return [
      cell.name,
      cell.versions.join(", "),
      // Without Redis there may be more.
      `${cell.servers}${cell.is_complete ? "" : "+"}`,
      cell.searches_per_second.toFixed(1),
      String(cell.in_flight),
      cell.customer_balance ?? "unknown",
      cell.items.length === 0 ? "ok" : `${cell.items.length} open`,
    ];
  });
  const problems = statuses.flatMap((cell) =>
    cell.fault === null ? cell.items.map(({ severity, title }) => `${cell.name}  ${severity}  ${title}`) : [],
  );
  return {
    text: [
      formatTable(rows, ["cell", "version", "servers", "searches/s", "in flight", "customer balance", "state"]),
      ...(problems.length > 0 ? ["", ...problems.map((line) => `  ${line}`)] : []),
    ].join("\n"),
    isHealthy: statuses.every((cell) => cell.fault === null && cell.items.every(({ severity }) => severity !== "page")),
  };
}

const maxAgeMs = 2 * 3_600_000;

/** The latest reconciliation of every cell, which its worker runs every hour, and transfers whose two sides differ. */
export async function reconcile(cells: readonly FleetCell[], now = Date.now()): Promise<Report> {
  const [lines, sides] = await Promise.all([
    readEach(cells, readCellReconciliation),
    readEach(cells, readCellTransfers),
  ]);
  const differences = compareTransfers(
    new Map(sides.flatMap(({ name, value }) => (value ? [[name, value.transfers]] : []))),
  );
  const isClean = ({ last }: CellReconciliation): boolean =>
    last !== null && last.differences === 0 && now - Date.parse(last.at) <= maxAgeMs;
  const rows = lines.map(({ name, value, fault }) => {
    if (!value) return [name, "", fault];
    if (!value.last) return [name, "", "never run"];
    const { at, differences } = value.last;
    const state = differences > 0 ? `${differences} differences` : "clean";
    return [name, at, isClean(value) || differences > 0 ? state : `${state}, but older than two hours`];
  });
  return {
    text: [
      formatTable(rows, ["cell", "at", "result"]),
      ...(differences.length > 0
        ? ["", formatTable(differences, ["source", "reference", "target", "sent", "received", "result"])]
        : []),
    ].join("\n"),
    isHealthy: lines.every(({ value }) => value !== undefined && isClean(value)) && differences.length === 0,
  };
}

/** Transfers between these cells whose two sides differ. A cell that was not read is not compared. */
function compareTransfers(cells: ReadonlyMap<string, readonly CellTransfer[]>): string[][] {
  const all = [...cells].flatMap(([cell, transfers]) => transfers.map((transfer) => ({ cell, ...transfer })));
  const byReference = Map.groupBy(all, ({ source, reference }) => `${source} ${reference}`);
  return [...byReference.values()].flatMap((sides) => {
    const sent = sides.filter(({ kind, cell, source }) => kind === "transfer_out" && cell === source);
    const received = sides.filter(({ kind }) => kind === "transfer_in");
    const [{ source, reference, target } = { source: "", reference: "", target: "" }] = [...sent, ...received];
    const result = ((): string | undefined => {
      if (received.length > 1) return "received twice";
      if (sent.length === 0) return cells.has(source) ? "received and not sent" : undefined;
      if (received.length === 0) return cells.has(target) ? "sent and not received" : undefined;
      const [out, into] = [sent[0], received[0]];
      const isSame = out?.amount === into?.amount && out?.targetWallet === into?.targetWallet && into?.cell === target;
      return isSame ? undefined : "the two sides differ";
    })();
    const amounts = (booked: typeof sides): string =>
      booked.map(({ cell, amount }) => `${amount} (${cell})`).join(", ");
    return result === undefined ? [] : [[source, reference, target, amounts(sent), amounts(received), result]];
  });
}

/** A look-up in every cell, for support. Cells in which nothing was found are listed too. */
export async function find(cells: readonly FleetCell[], parameters: Record<string, string>): Promise<Report> {
  const query = { ...parameters, text: findStart(parameters["text"] ?? "") };
  const lines = await readEach(cells, (cell) => findInCell(cell, query));
  return {
    text: lines.map(({ name, value, fault }) => `${name}\n\n${value ? formatFound(value) : fault}`).join("\n\n"),
    isHealthy: lines.every(({ value }) => value !== undefined),
  };
}

/** Revenue, upstream cost and margin of every cell in the last days, and the total. */
export async function margin(cells: readonly FleetCell[], days: number, now = Date.now()): Promise<Report> {
  const day = (ago: number): string => new Date(now - ago * 86_400_000).toISOString().slice(0, 10);
  const lines = await readEach(cells, (cell) => readCellMargin(cell, { from: day(days - 1), to: day(0) }));
  const totals = { calls: 0, revenue: 0n, cost: 0n };
  const rows = lines.map(({ name, value, fault }) => {
    if (!value) return [name, "", "", "", fault];
    const sum = (field: "revenue" | "cost"): Micros =>
      value.days.reduce((amount, line) => amount + (parseUsd(line[field]) ?? 0n), 0n);
    const own = {
      calls: value.days.reduce((count, line) => count + line.calls, 0),
      revenue: sum("revenue"),
      cost: sum("cost"),
    };
    totals.calls += own.calls;
    totals.revenue += own.revenue;
    totals.cost += own.cost;
    return toRow(name, own);
  });
  const isComplete = lines.every(({ value }) => value !== undefined);
  return {
    text: formatTable(
      [...rows, toRow(isComplete ? "total" : "total of the cells reached", totals)],
      ["cell", "calls", "revenue", "cost", "margin"],
    ),
    isHealthy: isComplete,
  };
}

function toRow(name: string, { calls, revenue, cost }: { calls: number; revenue: Micros; cost: Micros }): string[] {
  return [name, String(calls), formatUsd(revenue), formatUsd(cost), formatUsd(revenue - cost)];
}

/**
 * Writes the status page of all cells together. A cell that cannot be read is shown as unavailable and its requests are
 * missing, so the page is still written.
 */
export async function statusPage(
  cells: readonly FleetCell[],
  { folder, publicUrl }: { folder: string; publicUrl: string },
): Promise<Report> {
  const lines = await readEach(cells, readCellCounts);
  const status = summarizeCells(
    lines.map(({ name, value }) => ({ name, counts: value })),
    new Date().toISOString(),
  );
  await writeStatusFiles(folder, encodeStatus(status, publicUrl));
  const rows = lines.map(({ name, fault }, index) => [name, fault || (status.cells?.[index]?.state ?? "")]);
  return {
    text: formatTable(rows, ["cell", "state"]),
    isHealthy: lines.every(({ value }) => value !== undefined),
  };
}

type Line<Value> = { name: string; value: Value; fault: "" } | { name: string; value: undefined; fault: string };

/** Reads all cells at the same time. A cell that cannot be read does not hide the others. */
function readEach<Value>(
  cells: readonly FleetCell[],
  read: (cell: FleetCell) => Promise<Value>,
): Promise<Line<Value>[]> {
  return Promise.all(
    cells.map((cell) =>
      read(cell).then(
        (value): Line<Value> => ({ name: cell.name, value, fault: "" }),
        (error: unknown): Line<Value> => {
          if (!(error instanceof FleetFault)) throw error;
          return { name: cell.name, value: undefined, fault: error.message };
        },
      ),
    ),
  );
}
