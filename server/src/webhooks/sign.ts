import { Webhook } from "standardwebhooks";

export interface Message {
  /** The event's id, the same in every attempt, so that a receiver can tell what it has seen. */
  id: string;
  /** Of this attempt: receivers refuse what is older than five minutes. */
  at: Date;
  body: string;
}

/** The headers of Standard Webhooks. While a secret is being replaced, both sign, and a receiver may know either. */
export function signMessage(secrets: readonly string[], { id, at, body }: Message): Record<string, string> {
  return {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(at.getTime() / 1_000)),
    "webhook-signature": secrets.map((secret) => new Webhook(secret).sign(id, at, body)).join(" "),
  };
}
