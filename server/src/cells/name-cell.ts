import { inTransaction } from "../db/in-transaction.ts";
import type { Pool } from "../db/pool.ts";
import { type Act, recordAct } from "../db/record-act.ts";

/**
 * Names the cell of this database; new keys then have a label. "taken": it has another name, which it keeps, because requests
 * with the keys it has issued are routed by it.
 */
export function nameCell(owner: Pool, name: string, act: Act): Promise<"named" | "unchanged" | "taken"> {
  return inTransaction(owner, async (db) => {
    const { rowCount } = await db.query("insert into pb.cell (name) values ($1) on conflict do nothing", [name]);
    if (rowCount === 1) {
      await recordAct(db, act, { act: "cell.name", subject: name });
      return "named";
    }
    const { rows } = await db.query("select from pb.cell where name = $1", [name]);
    return rows.length === 1 ? "unchanged" : "taken";
  });
}
