import { type Actor, callAsTenant } from "../db/as-tenant.ts";
import type { Pool, Queryable } from "../db/pool.ts";
import type { Micros } from "../lib/money.ts";

export interface Alerts {
  name: string;
  email: string | null;
  lowBalance: Micros | null;
}

/** Runs as the database owner or as the tenant. */
export async function readAlerts(db: Queryable, walletId: string): Promise<Alerts | undefined> {
  const { rows } = await db.query<Alerts>(
    `select name, alert_email as email, low_balance_micros as "lowBalance" from pb.wallets where id = $1`,
    [walletId],
  );
  return rows[0];
}

/** Returns false if the wallet does not exist. Emits an event immediately if the balance is already below the threshold. */
export function setAlerts(pool: Pool, by: Actor, { email, lowBalance }: Omit<Alerts, "name">): Promise<boolean> {
  return callAsTenant<boolean>(pool, by.walletId, "pb.set_alerts($2, $3, $4)", [by.keyId, email, lowBalance]);
}
