import type { Queryable } from "../db/pool.ts";
import type { KeyMode } from "./key-format.ts";

export interface KeyView {
  id: string;
  mode: KeyMode;
  name: string;
  /** Its first characters, to recognise it by. */
  start: string;
  state: "active" | "expired" | "revoked";
  expiresAt: Date | null;
  budgetId: string | null;
  createdAt: Date;
}

/** A wallet's keys, oldest first. */
export async function listKeys(db: Queryable, walletId: string): Promise<KeyView[]> {
  const { rows } = await db.query<KeyView>(
    `select id, mode, name, start, expires_at as "expiresAt", budget_id as "budgetId", created_at as "createdAt",
       case
         when revoked_at is not null then 'revoked'
         when expires_at <= clock_timestamp() then 'expired'
         else 'active'
       end as state
     from pb.keys where wallet_id = $1 order by created_at, id`,
    [walletId],
  );
  return rows;
}
