import { asTenant } from "../db/as-tenant.ts";
import type { Pool } from "../db/pool.ts";
import { unavailable } from "../http/unavailable.ts";
import { Problem } from "../problems.ts";
import { isListed, lacksScope, type Principal, toBlockList } from "./keys.ts";
import { listKeys } from "./list-keys.ts";

/** The principal of a key of the wallet, with the refusals that the key itself would get at a search. */
export async function findOwnCaller(
  tenant: Pool,
  { walletId, keyId, ip }: { walletId: string; keyId: string; ip: string },
): Promise<Principal> {
  const [key] = await asTenant(tenant, walletId, (db) => listKeys(db, walletId, { id: keyId })).catch(unavailable);
  if (!key) throw new Problem("not_found", { detail: "Your wallet has no key with this id. Nothing was charged." });
  if (key.state !== "active") throw new Problem(key.state === "revoked" ? "api_key_revoked" : "api_key_expired");
  if (key.allowedIps && !isListed(toBlockList(key.allowedIps), ip)) throw new Problem("ip_not_allowed");
  if (!key.scopes.includes("search")) throw lacksScope("search");
  const { mode, scopes, searchesPerSecond, searchesInFlight } = key;
  return { keyId, walletId, mode, scopes, searchesPerSecond, searchesInFlight };
}
