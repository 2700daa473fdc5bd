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
  externalId: string | null;
  createdAt: Date;
}

export const maxEndpoints = 10;

export interface NewEndpoint {
  id: string;
  url: string;
  description: string;
  events: readonly EventType[];
  sealedSecret: Buffer;
  externalId: string | null;
}

/** The endpoint, or the reason why nothing was changed. */
export type EndpointOutcome = Endpoint | "too_many_endpoints" | "external_id_taken" | "not_found";

/** A wallet can have `maxEndpoints`. */
export async function createEndpoint(
  pool: Pool,
  { walletId, keyId }: Actor,
  endpoint: NewEndpoint,
): Promise<EndpointOutcome> {
  const { id, url, description, events, sealedSecret, externalId } = endpoint;
  const values = [keyId, id, url, description, events, sealedSecret, maxEndpoints, externalId];
  const call = "pb.create_webhook($2, $3, $4, $5, $6, $7, $8, $9)";
  return readChanged(pool, walletId, id, await callAsTenant(pool, walletId, call, values));
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
  externalId?: string | null | undefined;
}

export async function changeEndpoint(
  pool: Pool,
  { walletId, keyId }: Actor,
  id: string,
  change: EndpointChange,
): Promise<EndpointOutcome> {
  const { url = null, description = null, events = null, isEnabled = null, externalId } = change;
  // An empty text removes it, and NULL changes nothing.
  const ownId = externalId === undefined ? null : (externalId ?? "");
  const values = [keyId, id, url, description, events, isEnabled, ownId];
  const call = "pb.change_webhook($2, $3, $4, $5, $6, $7, $8)";
  return readChanged(pool, walletId, id, await callAsTenant(pool, walletId, call, values));
}

async function readChanged(
  pool: Pool,
  walletId: string,
  id: string,
  outcome: "done" | Exclude<EndpointOutcome, Endpoint>,
): Promise<EndpointOutcome> {
  return outcome === "done" ? ((await readEndpoint(pool, walletId, id)) ?? "not_found") : outcome;
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
    disabled_reason as "disabledReason", external_id as "externalId", created_at as "createdAt"
  from pb.webhook_endpoints`;

async function findEndpoint(db: Queryable, walletId: string, id: string): Promise<Endpoint | undefined> {
  const { rows } = await db.query<Endpoint>(`${selectEndpoints} where wallet_id = $1 and id = $2`, [walletId, id]);
  return rows[0];
}
