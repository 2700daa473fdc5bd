import type { Delivery, EventType } from "../../api/alerts.ts";

/** When each is sent. */
export const eventWords: Record<EventType, string> = {
  "wallet.low_balance": "the balance fell below your threshold",
  "wallet.depleted": "the balance is too low for a search",
  "top_up.succeeded": "a top-up arrived",
  "top_up.failed": "a top-up did not go through",
  "key.created": "a key was made",
  "key.rotated": "a key was replaced",
  "key.revoked": "a key was revoked",
  "key.budget_spent": "a key spent its budget",
};

const errors: Record<string, string> = {
  redirect: "it answered with a redirect, which we do not follow",
  timeout: "it did not answer in time",
  unreachable: "nobody answered there",
  private_address: "the address is not on the public internet",
  not_https: "the address is not https",
  endpoint_disabled: "the endpoint was switched off",
};

/** What came of a delivery, in a sentence. */
export function tellDelivery({ status, attempts, response_status: answer, error }: Delivery): string {
  const tries = attempts === 1 ? "1 attempt" : `${attempts} attempts`;
  if (status === "delivered") return `Answered ${answer ?? "yes"}, ${tries}`;
  if (attempts === 0) return error === null ? "Waits to be sent" : `Not sent: ${errors[error] ?? error}`;
  const why = error === "status" || error === null ? `it answered ${answer ?? "nothing"}` : (errors[error] ?? error);
  return `${tries}, last: ${why}`;
}
