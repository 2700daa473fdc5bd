import type { Queryable } from "../db/pool.ts";
import { queryFenced } from "../db/query-fenced.ts";

export interface Viewer {
  operator: string;
  reason?: string;
}

/**
 * Records that an operator views the data of a wallet, once an hour, because open pages reload their data. Returns false if
 * the wallet does not exist.
 */
export async function recordView(db: Queryable, { operator, reason }: Viewer, walletId: string): Promise<boolean> {
  const { rows } = await queryFenced<{ found: boolean }>(db, "select pb.operator_view($1, $2, $3) as found", [
    operator,
    reason ?? null,
    walletId,
  ]);
  return rows[0]?.found === true;
}
