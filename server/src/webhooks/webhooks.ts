import { setTimeout as wait } from "node:timers/promises";
import type { Pool } from "../db/pool.ts";
import type { Secrets } from "../lib/secrets.ts";
import type { Sender, SendResult } from "./deliver.ts";
import { retryDelayMs } from "./retry-delay.ts";
import { signMessage } from "./sign.ts";
import { openSecret } from "./webhook-secret.ts";

export { resealWebhookSecrets } from "./webhook-secret.ts";

// Sends events to webhook endpoints. All state is in the database. If a worker crashes, its lease on a delivery expires
// and the delivery is retried: at-least-once delivery, without ordering.

export interface WebhookDependencies {
  /** Connects as the worker. */
  pool: Pool;
  /** Unseals the endpoints' secrets. */
  secrets: Secrets;
  send: Sender["send"];
  /** Whether email is configured, so that alert events are also queued as emails. */
  hasEmail: boolean;
  onAttempt: (attempt: Attempt) => void;
  /** An internal error. The delivery is retried when its lease has expired. */
  onFault: (fault: unknown, deliveryId: string) => void;
}

export interface Attempt {
  deliveryId: string;
  endpointId: string;
  sent: SendResult;
  /** The reason if this attempt disabled the endpoint. */
  disabled: string | null;
}

/** Waiting for a receiver costs little, so there are more slots than a few wallets with silent receivers can occupy. */
const maxInFlight = 256;
/** Of all workers together. */
const maxPerEndpoint = 2;
const maxPerWallet = 8;

/** Sends deliveries until none is due and none is in flight. A receiver that does not respond delays no other delivery. */
export async function sendWebhooks(dependencies: WebhookDependencies, signal: AbortSignal): Promise<void> {
  const inFlight = new Set<Promise<void>>();
  while (!signal.aborted) {
    const dispatched = await dispatchEvents(dependencies);
    const claimed = await claimDeliveries(dependencies.pool, maxInFlight - inFlight.size);
    for (const delivery of claimed) {
      const work = attempt(dependencies, delivery, signal)
        .catch((fault: unknown) => dependencies.onFault(fault, delivery.id))
        .finally(() => inFlight.delete(work));
      inFlight.add(work);
    }
    if (dispatched + claimed.length > 0) continue;
    if (inFlight.size === 0) break;
    // Poll for new deliveries instead of waiting for a slow receiver.
    await Promise.race([...inFlight, wait(250)]);
  }
  await Promise.all(inFlight);
}

async function attempt(dependencies: WebhookDependencies, delivery: Delivery, signal: AbortSignal): Promise<void> {
  const sealed = [delivery.secret, ...(delivery.previous_secret ? [delivery.previous_secret] : [])];
  const secrets = sealed.map((each) => openSecret(dependencies.secrets, delivery.endpoint_id, each));
  const body = writeEvent(delivery);
  const headers = signMessage(secrets, { id: delivery.event_id, at: new Date(), body });
  const sent = await dependencies.send({ url: delivery.url, headers, body }, signal);
  if (!sent.ok && sent.error === "interrupted") {
    await dependencies.pool.query("select pb.return_delivery($1, $2)", [delivery.id, delivery.claim]);
    return;
  }
  const { rows } = await dependencies.pool.query<{ disabled: string | null }>(
    "select pb.finish_delivery($1, $2, $3, $4, $5, $6) as disabled",
    [
      delivery.id,
      delivery.claim,
      sent.ok,
      "status" in sent ? sent.status : null,
      sent.ok ? null : sent.error,
      sent.ok ? null : (retryDelayMs(delivery.attempts + 1) ?? null),
    ],
  );
  const disabled = rows[0]?.disabled ?? null;
  dependencies.onAttempt({ deliveryId: delivery.id, endpointId: delivery.endpoint_id, sent, disabled });
}

function writeEvent(event: Pick<Delivery, "event_id" | "type" | "event_at" | "data">): string {
  const { event_id: id, type, event_at: at, data } = event;
  return JSON.stringify({ id, type, timestamp: at.toISOString(), data });
}

interface Delivery {
  id: string;
  claim: number;
  /** Number of attempts before this one. */
  attempts: number;
  endpoint_id: string;
  url: string;
  secret: Buffer;
  previous_secret: Buffer | null;
  event_id: string;
  type: string;
  data: Record<string, unknown>;
  event_at: Date;
}

async function dispatchEvents({ pool, hasEmail }: WebhookDependencies): Promise<number> {
  const { rows } = await pool.query<{ done: number }>("select pb.dispatch_events(500, $1) as done", [hasEmail]);
  return rows[0]?.done ?? 0;
}

async function claimDeliveries(pool: Pool, limit: number): Promise<Delivery[]> {
  if (limit <= 0) return [];
  const { rows } = await pool.query<Delivery>("select * from pb.claim_deliveries($1, $2, $3)", [
    limit,
    maxPerEndpoint,
    maxPerWallet,
  ]);
  return rows;
}

/** Age in seconds of the oldest due event or delivery. Deliveries to failing endpoints do not count. */
export async function readWebhookLag(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ seconds: number }>("select pb.webhook_lag() as seconds");
  return rows[0]?.seconds ?? 0;
}

/** Deletes events older than 30 days and their deliveries. Returns how many. */
export async function deleteOldEvents(pool: Pool, limit: number): Promise<number> {
  const { rows } = await pool.query<{ deleted: number }>("select pb.delete_old_events($1) as deleted", [limit]);
  return rows[0]?.deleted ?? 0;
}
