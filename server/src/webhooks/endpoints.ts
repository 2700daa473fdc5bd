import { type Actor, asTenant, callAsTenant } from "../db/as-tenant.ts";
import type { Pool, Queryable } from "../db/pool.ts";
import type { EventType } from "./event-types.ts";

// Webhook endpoints of a wallet. Every statement runs as the tenant (row-level security) and also filters by wallet.

export interface Endpoint {
  id: string;
  url: string;
  description: string;
  events: EventType[];
  previousUntil: Date | null;
  failingSince: Date | null;
  disabledReason: "owner" | "gone" | "failing" | null;
  createdAt: Date;
}

export const maxEndpoints = 10;

export interface NewEndpoint {
  id: string;
  url: string;
  description: string;
  events: readonly EventType[];
  sealedSecret: Buffer;
}

/** Returns undefined if the wallet already has `maxEndpoints`. */
export async function createEndpoint(
  pool: Pool,
  { walletId, keyId }: Actor,
  endpoint: NewEndpoint,
): Promise<Endpoint | undefined> {
  const { id, url, description, events, sealedSecret } = endpoint;
  const values = [keyId, id, url, description, events, sealedSecret, maxEndpoints];
  const made = await callAsTenant<boolean>(pool, walletId, "pb.create_webhook($2, $3, $4, $5, $6, $7, $8)", values);
  return made ? readEndpoint(pool, walletId, id) : undefined;
}

/** Oldest first. */
export function listEndpoints(pool: Pool, walletId: string): Promise<Endpoint[]> {
  return asTenant(pool, walletId, async (db) => {
    const { rows } = await db.query<Endpoint>(`${selectEndpoints} where wallet_id = $1 order by id`, [walletId]);
    return rows;
  });
}

export function readEndpoint(pool: Pool, walletId: string, id: string): Promise<Endpoint | undefined> {
  return asTenant(pool, walletId, (db) => findEndpoint(db, walletId, id));
}

export interface EndpointChange {
  url?: string | undefined;
  description?: string | undefined;
  events?: readonly EventType[] | undefined;
  isEnabled?: boolean | undefined;
}

export async function changeEndpoint(
  pool: Pool,
  { walletId, keyId }: Actor,
  id: string,
  change: EndpointChange,
): Promise<Endpoint | undefined> {
  const { url = null, description = null, events = null, isEnabled = null } = change;
  const values = [keyId, id, url, description, events, isEnabled];
  const changed = await callAsTenant<boolean>(pool, walletId, "pb.change_webhook($2, $3, $4, $5, $6, $7)", values);
  return changed ? readEndpoint(pool, walletId, id) : undefined;
}

export function deleteEndpoint(pool: Pool, by: Actor, id: string): Promise<boolean> {
  return callAsTenant<boolean>(pool, by.walletId, "pb.delete_webhook($2, $3)", [by.keyId, id]);
}

/** Returns until when deliveries are also signed with the old secret, or null if the endpoint does not exist. */
export function rotateSecret(pool: Pool, by: Actor, id: string, sealed: Buffer): Promise<Date | null> {
  return callAsTenant<Date | null>(pool, by.walletId, "pb.rotate_webhook_secret($2, $3, $4)", [by.keyId, id, sealed]);
}

const selectEndpoints = `
  select id, url, description, events, previous_until as "previousUntil", failing_since as "failingSince",
    disabled_reason as "disabledReason", created_at as "createdAt"
  from pb.webhook_endpoints`;

async function findEndpoint(db: Queryable, walletId: string, id: string): Promise<Endpoint | undefined> {
  const { rows } = await db.query<Endpoint>(`${selectEndpoints} where wallet_id = $1 and id = $2`, [walletId, id]);
  return rows[0];
}
