import type { Queryable } from "../db/pool.ts";

/**
 * Names the cell of this database; new keys then have a label. "taken": it has another name, which it keeps, because requests
 * with the keys it has issued are routed by it.
 */
export async function nameCell(owner: Queryable, name: string): Promise<"named" | "unchanged" | "taken"> {
  const { rowCount } = await owner.query("insert into pb.cell (name) values ($1) on conflict do nothing", [name]);
  if (rowCount === 1) return "named";
  const { rows } = await owner.query("select from pb.cell where name = $1", [name]);
  return rows.length === 1 ? "unchanged" : "taken";
}

/** The cell that serves a moved account. NULL if it is this one, or if the account is being moved. */
export async function findOwnerCell(db: Queryable, walletId: string): Promise<string | null> {
  const { rows } = await db.query<{ cell: string | null }>({
    name: "owner_cell",
    text: "select pb.owner_cell($1) as cell",
    values: [walletId],
  });
  return rows[0]?.cell ?? null;
}
