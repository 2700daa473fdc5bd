import type { KeyObject } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import type { Pool } from "../db/pool.ts";
import type { Sender, Sent } from "./deliver.ts";
import { retryDelayMs } from "./retry-delay.ts";
import { signMessage } from "./sign.ts";
import { openSecret } from "./webhook-secret.ts";

// Events on their way out. The database has every step (server/migrations/0013_events.sql draws it); a worker that dies
// anywhere in between leaves a lease that runs out, and the delivery is made again: at least once, in no promised order.

export interface WebhookParts {
  /** As the owner. */
  pool: Pool;
  /** Opens the receivers' secrets. */
  secret: KeyObject;
  send: Sender["send"];
  /** Whether events that are worth an e-mail get one. */
  hasMail: boolean;
  onAttempt: (attempt: Attempt) => void;
  /** What no receiver can be blamed for. The delivery is made again when its lease has run out. */
  onFault: (fault: unknown, deliveryId: string) => void;
}

export interface Attempt {
  deliveryId: string;
  endpointId: string;
  sent: Sent;
  /** Why the endpoint was disabled by this attempt, if it was. */
  disabled: string | null;
}

const mostUnderWay = 64;
/** One receiver that answers each time in the last of its ten seconds takes two of the places above, never more. */
const mostForOneEndpoint = 2;
/** A run ends now and then even if there is always more to do, so that a worker can give its place away. */
const longestRunMs = 30_000;

/** Sends what is due, until nothing is. */
export async function sendWebhooks(parts: WebhookParts, signal: AbortSignal): Promise<void> {
  const underWay = new Set<Promise<void>>();
  const endMs = performance.now() + longestRunMs;
  while (!signal.aborted && performance.now() < endMs) {
    const dispatched = await dispatchEvents(parts);
    const claimed = await claimDeliveries(parts.pool, mostUnderWay - underWay.size);
    for (const delivery of claimed) {
      const work = attempt(parts, delivery, signal)
        .catch((fault: unknown) => parts.onFault(fault, delivery.id))
        .finally(() => underWay.delete(work));
      underWay.add(work);
    }
    if (dispatched + claimed.length > 0) continue;
    if (underWay.size === 0) break;
    // What comes to be due meanwhile must not wait for a slow receiver.
    await Promise.race([...underWay, wait(250)]);
  }
  await Promise.all(underWay);
}

async function attempt(parts: WebhookParts, delivery: Delivery, signal: AbortSignal): Promise<void> {
  const sealed = [delivery.secret, ...(delivery.previous_secret ? [delivery.previous_secret] : [])];
  const secrets = sealed.map((each) => openSecret(parts.secret, delivery.endpoint_id, each));
  const body = writeEvent(delivery);
  const headers = signMessage(secrets, { id: delivery.event_id, at: new Date(), body });
  const sent = await parts.send({ url: delivery.url, headers, body }, signal);
  if (!sent.ok && sent.error === "interrupted") {
    await parts.pool.query("select pb.return_delivery($1, $2)", [delivery.id, delivery.claim]);
    return;
  }
  const { rows } = await parts.pool.query<{ disabled: string | null }>(
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
  parts.onAttempt({ deliveryId: delivery.id, endpointId: delivery.endpoint_id, sent, disabled });
}

/** The body that is signed and sent. */
function writeEvent(event: Pick<Delivery, "event_id" | "type" | "event_at" | "data">): string {
  const { event_id: id, type, event_at: at, data } = event;
  return JSON.stringify({ id, type, timestamp: at.toISOString(), data });
}

interface Delivery {
  id: string;
  claim: number;
  /** Made before this one. */
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

async function dispatchEvents({ pool, hasMail }: WebhookParts): Promise<number> {
  const { rows } = await pool.query<{ done: number }>("select pb.dispatch_events(500, $1) as done", [hasMail]);
  return rows[0]?.done ?? 0;
}

async function claimDeliveries(pool: Pool, most: number): Promise<Delivery[]> {
  if (most <= 0) return [];
  const { rows } = await pool.query<Delivery>("select * from pb.claim_deliveries($1, $2)", [most, mostForOneEndpoint]);
  return rows;
}

/** How long what has been due for longest has waited, in seconds. A receiver that fails keeps its own waiting, not ours. */
export async function readWebhookLag(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ seconds: number }>(
    `select coalesce(extract(epoch from clock_timestamp() - least(
       (select min(due_at) from pb.events where dispatched_at is null and due_at <= clock_timestamp()),
       (select min(d.due_at) from pb.webhook_deliveries d join pb.webhook_endpoints e on e.id = d.endpoint_id
        where d.state = 'pending' and d.due_at <= clock_timestamp() and e.failing_since is null)
     )), 0)::float8 as seconds`,
  );
  return rows[0]?.seconds ?? 0;
}

/** Deletes events that are older than thirty days, with their deliveries. Says how many. */
export async function forgetEvents(pool: Pool, most: number): Promise<number> {
  const { rowCount } = await pool.query(
    `delete from pb.events where id in (
       select id from pb.events where id < pb.uuid_floor(clock_timestamp() - interval '30 days') order by id limit $1
     )`,
    [most],
  );
  return rowCount ?? 0;
}
