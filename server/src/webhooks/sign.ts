import { Webhook } from "standardwebhooks";

export interface Message {
  /** The event's id, the same in every attempt, so that receivers can deduplicate. */
  id: string;
  /** Time of this attempt: receivers reject messages older than five minutes. */
  at: Date;
  body: string;
}

/** Standard Webhooks headers. During a secret rotation there is one signature per secret. */
export function signMessage(secrets: readonly string[], { id, at, body }: Message): Record<string, string> {
  return {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(at.getTime() / 1_000)),
    "webhook-signature": secrets.map((secret) => new Webhook(secret).sign(id, at, body)).join(" "),
  };
}
