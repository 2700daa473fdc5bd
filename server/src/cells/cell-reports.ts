import { type Static, Type } from "typebox";
import type { AttentionItem, Found } from "../operator/operator.ts";
import { statusCountsSchema } from "../status/status.ts";
import { type FleetCell, FleetFault, readCell } from "./operator-client.ts";

/** State and load of a cell, or the reason it could not be read. */
export type CellStatus = { name: string; fault: string } | ({ name: string; fault: null } & CellFigures);

interface CellFigures {
  /** More than one during an upgrade. */
  versions: string[];
  servers: number;
  /** False if the cell has no Redis: in that case only the server that answered is counted. */
  is_complete: boolean;
  searches_per_second: number;
  in_flight: number;
  /** Null if the cell's database is unavailable, or not configured for operators. */
  customer_balance: string | null;
  charged_today: string | null;
  items: AttentionItem[];
}

const serversSchema = Type.Object({
  servers: Type.Array(
    Type.Object({ version: Type.String(), searches_per_second: Type.Number(), in_flight: Type.Number() }),
  ),
  is_complete: Type.Boolean(),
});
const attentionSchema = Type.Object({
  items: Type.Array(
    Type.Object({
      severity: Type.Union([Type.Literal("page"), Type.Literal("ticket")]),
      title: Type.String(),
      detail: Type.String(),
      runbook: Type.String(),
    }),
  ),
});
const amount = Type.String({ pattern: "^-?\\d+\\.\\d+$" });
const moneySchema = Type.Object({ customer_balance: amount, charged_today: amount });

/** Takes at most as long as `readCell`. */
export async function readCellStatus(cell: FleetCell): Promise<CellStatus> {
  const { name } = cell;
  try {
    const [{ servers, is_complete }, { items }, money] = await Promise.all([
      readCell(cell, "servers", serversSchema),
      readCell(cell, "attention", attentionSchema),
      // Needs the database. Without it the rest is still shown.
      readCell(cell, "money", moneySchema).catch(unlessFault),
    ]);
    const total = (figure: "searches_per_second" | "in_flight"): number =>
      servers.reduce((sum, server) => sum + server[figure], 0);
    return {
      name,
      fault: null,
      versions: [...new Set(servers.map(({ version }) => version))],
      servers: servers.length,
      is_complete,
      searches_per_second: total("searches_per_second"),
      in_flight: total("in_flight"),
      customer_balance: money?.customer_balance ?? null,
      charged_today: money?.charged_today ?? null,
      items,
    };
  } catch (error) {
    if (!(error instanceof FleetFault)) throw error;
    return { name, fault: error.message };
  }
}

function unlessFault(error: unknown): undefined {
  if (!(error instanceof FleetFault)) throw error;
}

const reconciliationSchema = Type.Object({
  last: Type.Union([Type.Object({ at: Type.String(), differences: Type.Number() }), Type.Null()]),
});

export type CellReconciliation = Static<typeof reconciliationSchema>;

/** The latest reconciliation of a cell. Throws a FleetFault. */
export function readCellReconciliation(cell: FleetCell): Promise<CellReconciliation> {
  return readCell(cell, "reconciliation", reconciliationSchema);
}

/** The counts of a cell's status page. Throws a FleetFault. */
export function readCellCounts(cell: FleetCell): Promise<Static<typeof statusCountsSchema>> {
  return readCell(cell, "status", statusCountsSchema);
}

const transfersSchema = Type.Object({
  transfers: Type.Array(
    Type.Object({
      kind: Type.Union([Type.Literal("transfer_out"), Type.Literal("transfer_in")]),
      source: Type.String(),
      reference: Type.String(),
      target: Type.String(),
      targetWallet: Type.String(),
      amount,
    }),
  ),
});

export type CellTransfer = Static<typeof transfersSchema>["transfers"][number];

/** All transfers from and to a cell, as booked there. Throws a FleetFault. */
export function readCellTransfers(cell: FleetCell): Promise<Static<typeof transfersSchema>> {
  return readCell(cell, "transfers", transfersSchema);
}

const marginSchema = Type.Object({
  days: Type.Array(Type.Object({ revenue: amount, cost: amount, calls: Type.Number() })),
});

/** Revenue and upstream cost of a cell per UTC day and upstream. Throws a FleetFault. */
export function readCellMargin(
  cell: FleetCell,
  { from, to }: { from: string; to: string },
): Promise<Static<typeof marginSchema>> {
  return readCell(cell, `margin?from=${from}&to=${to}`, marginSchema);
}

const nullableText = Type.Union([Type.String(), Type.Null()]);
const nullableNumber = Type.Union([Type.Number(), Type.Null()]);
const line = {
  request_id: Type.String(),
  kind: Type.String(),
  at: Type.String(),
  mode: Type.String(),
  key_id: Type.String(),
  key_name: nullableText,
  outcome: Type.String(),
  charged: amount,
  ms: nullableNumber,
  wallet_id: Type.String(),
};
/** The parts of a look-up that the command line and the console show. Other members are passed on. */
const foundSchema = Type.Object({
  request: Type.Union([
    Type.Object({
      ...line,
      state: Type.String(),
      upstreams: nullableText,
      steps: Type.Union([Type.Record(Type.String(), Type.Number()), Type.Null()]),
      category: nullableText,
      run: nullableText,
      end_user: nullableText,
      transport: nullableText,
      entries: Type.Array(Type.Object({ kind: Type.String(), amount, created_at: Type.String() })),
    }),
    Type.Null(),
  ]),
  unknown: nullableText,
  wallets: Type.Array(
    Type.Object({
      id: Type.String(),
      name: Type.String(),
      account: Type.Union([
        Type.Object({
          id: Type.String(),
          name: Type.String(),
          owners: Type.Array(Type.String()),
          deleted_at: nullableText,
        }),
        Type.Null(),
      ]),
      balance: amount,
      suspended: Type.Boolean(),
      keys: Type.Array(
        Type.Object({
          id: Type.String(),
          name: Type.String(),
          start: Type.String(),
          mode: Type.String(),
          state: Type.String(),
        }),
      ),
    }),
  ),
  searches: Type.Array(Type.Object(line)),
  has_more: Type.Boolean(),
});

/** A look-up in a cell, with the parameters of GET /operator/find. Throws a FleetFault. */
export async function findInCell(cell: FleetCell, parameters: Record<string, string>): Promise<Found> {
  return (await readCell(cell, `find?${new URLSearchParams(parameters).toString()}`, foundSchema)) as Found;
}
