import { type Static, Type } from "typebox";
import type { Queryable } from "../db/pool.ts";
import { incidentSchema } from "./status-schema.ts";

/** What pb.read_status returns, and other cells return to `npm run fleet`. */
export const statusCountsSchema = Type.Object({
  /** By the database's clock. */
  now: Type.String(),
  /** Every search held before this time is counted. */
  counted_before: Type.String(),
  /** The last report of any server that has not stopped. */
  server_seen_at: Type.Union([Type.String(), Type.Null()]),
  /** Live requests: the UTC day, the outcome as in usage, their number. */
  outcomes: Type.Array(Type.Tuple([Type.String(), Type.String(), Type.Number()])),
  /** Charged searches: the UTC day, their time in ms rounded up, their number, and how many of them were slow. */
  latencies: Type.Array(Type.Tuple([Type.String(), Type.Number(), Type.Number(), Type.Number()])),
  incidents: Type.Array(incidentSchema),
});

export type StatusCounts = Static<typeof statusCountsSchema>;

/** Runs as the ledger role, an operator or the worker. */
export async function readStatusCounts(db: Queryable): Promise<StatusCounts> {
  const { rows } = await db.query<{ counts: StatusCounts }>("select pb.read_status() as counts");
  const [row] = rows;
  if (!row) throw new Error("pb.read_status returned no row");
  return row.counts;
}

/** Adds up the usage of the last days. Runs as the worker. */
export async function countStatus(db: Queryable): Promise<void> {
  await db.query("select pb.count_status()");
}
