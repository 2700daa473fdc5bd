import { callAsTenant } from "../../db/as-tenant.ts";
import type { Pool } from "../../db/pool.ts";
import { firstIdOf } from "../../lib/first-id-of.ts";
import { upperIdBound } from "./read-wallet.ts";

/** No search takes this long, so older ones have ended. */
const recentMs = 3_600_000;

/** Changes whenever the wallet's money moves or one of its searches ends. One round trip. */
export function readVersion(pool: Pool, walletId: string): Promise<string> {
  const since = firstIdOf(new Date(Date.now() - recentMs));
  return callAsTenant<string>(pool, walletId, "pb.own_version($2, $3)", [upperIdBound(), since]);
}
