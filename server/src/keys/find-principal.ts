import { asTenant } from "../db/as-tenant.ts";
import type { Pool } from "../db/pool.ts";
import { noSuchResource } from "../http/input/path-id.ts";
import { unavailable } from "../http/unavailable.ts";
import { Problem } from "../problems/problems.ts";
import { toCompat } from "./compat.ts";
import { keyResource } from "./key-resource.ts";
import { insufficientScope, isListed, type OnFound, type Principal, toBlockList } from "./keys.ts";
import { listKeys } from "./list-keys.ts";
import { toMaxRun } from "./max-run.ts";
import { toSourcePolicy } from "./source-policy.ts";

/** The principal of one of the wallet's keys, after the checks that a search with the key itself would go through. */
export async function findPrincipal(
  tenant: Pool,
  { walletId, keyId, ip }: { walletId: string; keyId: string; ip: string },
  onFound: OnFound,
): Promise<Principal> {
  const [key] = await asTenant(tenant, walletId, (db) => listKeys(db, walletId, { id: keyId })).catch(unavailable);
  if (!key) throw noSuchResource(keyResource);
  const { mode, scopes, searchesPerSecond, searchesInFlight } = key;
  const settings = {
    ...(key.compat && { compat: toCompat(key.compat) }),
    ...(key.sources && { sources: toSourcePolicy(key.sources) }),
    ...(key.maxRun && { maxRun: toMaxRun(key.maxRun) }),
  };
  const principal = { keyId, walletId, mode, scopes, searchesPerSecond, searchesInFlight, ...settings };
  onFound(principal);
  if (key.state !== "active") throw new Problem(key.state === "revoked" ? "api_key_revoked" : "api_key_expired");
  if (key.allowedIps && !isListed(toBlockList(key.allowedIps), ip))
    throw new Problem("ip_not_allowed", { values: { ip } });
  if (!key.scopes.includes("search")) throw insufficientScope("search", key.mode);
  return principal;
}
