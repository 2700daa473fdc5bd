import type { Role } from "../../src/accounts/accounts.ts";
import { addTestMember, type Browser, someone } from "../support/console-fixture.ts";
import { seedBudgetRequest } from "../support/data/seed-wallet.ts";
import type { TestDatabase } from "../support/services/database.ts";
import { createTestKey } from "../support/services/server.ts";
import { type Tenant, type TenantRequest, tenantRequests } from "../tenants/tenant-requests.ts";

// Required role and a valid request for each wallet route of the console. A new route fails roles.test.ts until it is
// listed here. Requests of /v1 routes come from tenant-requests.ts.

export interface Access {
  /** Minimum role. */
  role: Role;
  /** Requires a fresh sign-in. */
  isFresh?: true;
  /** Allowed while the wallet is suspended, as all reads are. */
  isForSuspended?: true;
}

const reading: Access = { role: "viewer" };
const changing: Access = { role: "developer" };
const minting: Access = { role: "developer", isFresh: true };
const leading: Access = { role: "owner", isFresh: true, isForSuspended: true };

/** By method and path below /console/api/wallets/{walletId}. */
export const access: Record<string, Access> = {
  "GET /wallet": reading,
  "GET /wallet/entries": reading,
  "GET /wallet/entries.csv": reading,
  "GET /wallet/proof": reading,
  "GET /wallet/alerts": reading,
  "PUT /wallet/alerts": changing,
  "GET /wallet/end-users": reading,
  "PUT /wallet/end-users": changing,
  "GET /wallet/auto-top-up": reading,
  "PUT /wallet/auto-top-up": minting,
  "DELETE /wallet/auto-top-up": changing,
  "GET /wallet/top-ups": reading,
  "GET /wallet/top-ups/{id}": reading,
  "GET /wallet/top-ups/{id}/receipt": reading,
  "POST /wallet/top-ups": changing,
  "GET /usage": reading,
  "GET /searches": reading,
  "GET /searches/{id}": reading,
  "GET /searches/{id}/receipt": reading,
  "GET /runs": reading,
  "GET /wallet/summary": reading,
  "GET /budgets": reading,
  "GET /budgets/{id}": reading,
  "POST /budgets": changing,
  "PATCH /budgets/{id}": changing,
  "DELETE /budgets/{id}": changing,
  "GET /keys": reading,
  "GET /keys/{id}": reading,
  "POST /keys": minting,
  "PATCH /keys/{id}": changing,
  "DELETE /keys/{id}": changing,
  "POST /keys/{id}/rotate": minting,
  "GET /webhooks": reading,
  "GET /webhooks/{id}": reading,
  "POST /webhooks": minting,
  "PATCH /webhooks/{id}": minting,
  "DELETE /webhooks/{id}": changing,
  "POST /webhooks/{id}/rotate-secret": minting,
  "POST /webhooks/{id}/test": changing,
  "GET /webhooks/{id}/deliveries": reading,
  "POST /webhooks/deliveries/{id}/replay": changing,
  "GET /activity": reading,
  "GET /activity.jsonl": reading,
  "POST /playground/search": { role: "viewer" },
  "GET /version": reading,
  "GET /members": reading,
  "PATCH /members/{personId}": leading,
  "DELETE /members/{personId}": leading,
  "POST /invitations": leading,
  "GET /apps": reading,
  "PUT /apps": minting,
  "DELETE /apps": changing,
  "POST /apps/{id}/allow": minting,
  "GET /budget-requests": reading,
  "POST /budget-requests/{id}/approve": minting,
  "POST /budget-requests/{id}/deny": changing,
  "DELETE /invitations/{id}": { role: "owner", isForSuspended: true },
};

export interface ConsoleTenant extends Tenant {
  accountId: string;
  browsers: Record<Role, Browser>;
  emails: Record<Role, string>;
}

type Make = (db: TestDatabase, tenant: ConsoleTenant) => Promise<TenantRequest>;

/** Routes that exist only in the console. */
const ownRequests: Record<string, Make> = {
  "POST /playground/search": async (db, { walletId }) => {
    const { id } = await createTestKey(db, { walletId, mode: "test", name: "playground" });
    return { body: { key_id: id, query: "cats" } };
  },
  "PATCH /members/{personId}": async (db, { accountId }) => ({
    path: { personId: await addTestMember(db, accountId, someone("changed"), "viewer") },
    body: { role: "developer" },
  }),
  "DELETE /members/{personId}": async (db, { accountId }) => ({
    path: { personId: await addTestMember(db, accountId, someone("removed"), "viewer") },
  }),
  "PUT /apps": async () => ({ body: { budget: { day: "1.00" } } }),
  "POST /apps/{id}/allow": async (db, { walletId, emails }) => ({
    path: { id: await seedDisconnectedApp(db, walletId, emails.owner) },
  }),
  "POST /budget-requests/{id}/approve": async (db, { walletId }) => ({
    path: { id: (await seedBudgetRequest(db.owner, walletId)).requestId },
  }),
  "POST /budget-requests/{id}/deny": async (db, { walletId }) => ({
    path: { id: (await seedBudgetRequest(db.owner, walletId)).requestId },
  }),
  "POST /invitations": async () => ({ body: { email: someone("invited"), role: "viewer" } }),
  "DELETE /invitations/{id}": async (db, { accountId }) => {
    const { rows } = await db.owner.query<{ id: string }>("select id from pb.invite($1, $2, 'viewer', $3)", [
      accountId,
      someone("revoked"),
      Buffer.from(crypto.getRandomValues(new Uint8Array(32))),
    ]);
    return { path: { id: rows[0]?.id ?? "" } };
  },
};

async function seedDisconnectedApp(db: TestDatabase, walletId: string, email: string): Promise<string> {
  const { id } = await createTestKey(db, { walletId, name: "app" });
  await db.owner.query("select pb.revoke_key($1, $2)", [walletId, id]);
  await db.owner.query(
    `insert into pb.connected_apps (key_id, wallet_id, person_id, client_id)
     select $1, $2, id, gen_random_uuid() from pb.people where email = $3`,
    [id, walletId, email],
  );
  return id;
}

/** A valid request for this tenant. */
export async function makeConsoleRequest(
  db: TestDatabase,
  tenant: ConsoleTenant,
  name: string,
): Promise<TenantRequest> {
  const own = ownRequests[name];
  if (own) return own(db, tenant);
  return (await tenantRequests[name.replace(" /", " /v1/")]?.(tenant)) ?? {};
}
