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
