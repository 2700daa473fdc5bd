import pg from "pg";
import { FleetFault } from "./operator-client.ts";

// Connections to the databases of several cells, for moves of accounts. See server/sql/moves.sql.

/** A cell and the URL with which the owner of its tables connects. */
export interface CellDatabase {
  name: string;
  databaseUrl: string;
}

/** What a cell knows about an account. */
export interface Place {
  cell: string;
  label: string | null;
  isActive: boolean;
  /** 0 if the account was never moved from or to the cell. */
  epoch: number;
  ownerCell: string | null;
}

export interface CellConnection {
  name: string;
  query: (sql: string, values: readonly unknown[]) => Promise<void>;
  /** The only value of the only row, as PostgreSQL writes it. */
  readText: (sql: string, values: readonly unknown[]) => Promise<string>;
  readRows: <Row extends pg.QueryResultRow>(sql: string, values: readonly unknown[]) => Promise<Row[]>;
  close: () => Promise<void>;
}

/** Connects to every cell, and verifies that each has the name under which it is listed. */
export async function connectCells(cells: readonly CellDatabase[]): Promise<CellConnection[]> {
  const settled = await Promise.allSettled(cells.map(connect));
  const connected = settled.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  const failed = settled.find((each) => each.status === "rejected");
  if (!failed) return connected;
  for (const cell of connected) await cell.close();
  throw failed.reason;
}

async function connect({ name, databaseUrl }: CellDatabase): Promise<CellConnection> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: 5_000,
    // A statement that waits longer than a fence lasts has lost it.
    statement_timeout: 8_000,
    // PostgreSQL text, so that times keep their microseconds and JSON its numbers.
    types: { getTypeParser: () => String },
  });
  // A lost connection fails the statement that uses it.
  client.on("error", () => undefined);
  try {
    await client.connect();
  } catch (cause) {
    throw new FleetFault(`The database of ${name} cannot be reached: ${String(cause)}`);
  }
  const readRows = async <Row extends pg.QueryResultRow>(sql: string, values: readonly unknown[]): Promise<Row[]> =>
    (await client.query<Row>(sql, [...values])).rows;
  const readText = async (sql: string, values: readonly unknown[]): Promise<string> => {
    const [row] = await readRows<Record<string, string>>(sql, values);
    return String(Object.values(row ?? {})[0]);
  };
  const stored = await readText("select coalesce((select name from pb.cell), '')", []);
  if (stored !== name) {
    await client.end();
    throw new FleetFault(
      `The database of ${name} belongs to ${stored === "" ? "no named cell" : `the cell ${stored}`}.`,
    );
  }
  return {
    name,
    query: async (sql, values) => void (await client.query(sql, [...values])),
    readText,
    readRows,
    close: () => client.end().catch(() => undefined),
  };
}

export async function readPlaces(cells: readonly CellConnection[], account: string): Promise<Place[]> {
  return Promise.all(
    cells.map(async ({ name, readRows }) => {
      const [row] = await readRows<{
        label: string | null;
        is_active: string;
        epoch: string;
        owner_cell: string | null;
      }>("select label, is_active, epoch, owner_cell from pb.read_account_place($1)", [account]);
      return {
        cell: name,
        label: row?.label ?? null,
        isActive: row?.is_active === "t",
        epoch: Number(row?.epoch ?? 0),
        ownerCell: row?.owner_cell ?? null,
      };
    }),
  );
}
