import { asTenant, callAsTenant } from "../db/as-tenant.ts";
import type { Pool } from "../db/pool.ts";

export interface DeliveryView {
  id: string;
  endpointId: string;
  eventId: string;
  eventType: string;
  eventAt: Date;
  state: "pending" | "delivered" | "failed";
  attempts: number;
  responseStatus: number | null;
  error: string | null;
  lastAttemptAt: Date | null;
  dueAt: Date;
  createdAt: Date;
}

/** Newest first. Undefined if the endpoint does not exist. */
export function listDeliveries(
  pool: Pool,
  walletId: string,
  { endpointId, before, limit }: { endpointId: string; before: string | undefined; limit: number },
): Promise<DeliveryView[] | undefined> {
  return asTenant(pool, walletId, async (db) => {
    const { rowCount } = await db.query("select id from pb.webhook_endpoints where wallet_id = $1 and id = $2", [
      walletId,
      endpointId,
    ]);
    if (rowCount === 0) return undefined;
    const { rows } = await db.query<DeliveryView>(
      `${selectDeliveries} where d.wallet_id = $1 and d.endpoint_id = $2 and ($3::uuid is null or d.id < $3)
       order by d.id desc limit $4`,
      [walletId, endpointId, before ?? null, limit],
    );
    return rows;
  });
}

/** Queues a `webhook.test` event for one endpoint. */
export function testEndpoint(pool: Pool, walletId: string, endpointId: string): Promise<DeliveryView | undefined> {
  return queue(pool, walletId, "pb.test_webhook($2)", endpointId);
}

/** Queues a new delivery of the same event. */
export function replayDelivery(pool: Pool, walletId: string, deliveryId: string): Promise<DeliveryView | undefined> {
  return queue(pool, walletId, "pb.replay_delivery($2)", deliveryId);
}

async function queue(pool: Pool, walletId: string, call: string, id: string): Promise<DeliveryView | undefined> {
  const queued = await callAsTenant<string | null>(pool, walletId, call, [id]);
  if (queued === null) return undefined;
  const { rows } = await asTenant(pool, walletId, (db) =>
    db.query<DeliveryView>(`${selectDeliveries} where d.wallet_id = $1 and d.id = $2`, [walletId, queued]),
  );
  return rows[0];
}

const selectDeliveries = `
  select d.id, d.endpoint_id as "endpointId", d.event_id as "eventId", e.type as "eventType",
    e.created_at as "eventAt", d.state, d.attempts, d.response_status as "responseStatus", d.last_error as error,
    d.last_attempt_at as "lastAttemptAt", d.due_at as "dueAt", d.created_at as "createdAt"
  from pb.webhook_deliveries d join pb.events e on e.id = d.event_id and e.wallet_id = d.wallet_id`;
