import type { Delivery, EventType } from "@pennyblack/sdk";

export const eventDescriptions: Record<EventType, string> = {
  "wallet.low_balance": "Balance fell below the threshold",
  "wallet.depleted": "Balance is too low for a search",
  "top_up.succeeded": "Top-up succeeded",
  "top_up.failed": "Top-up failed",
  "key.created": "Key created",
  "key.rotated": "Key rotated",
  "key.revoked": "Key revoked",
  "key.budget_spent": "Key budget spent",
  "budget.threshold": "Shared budget reached a percentage",
  "budget.spent": "Shared budget spent",
  "budget.increase_requested": "Increase of a budget requested",
  "service.incident": "Incident opened, updated or closed",
};

export const eventTypes = Object.keys(eventDescriptions) as EventType[];

const errors: Record<string, string> = {
  redirect: "redirects are not followed",
  timeout: "timed out",
  unreachable: "connection failed",
  private_address: "the host has no public address",
  not_https: "the URL is not https",
  endpoint_disabled: "the endpoint was disabled",
};

export function describeDelivery({ status, attempts, response_status: responseStatus, error }: Delivery): string {
  const attemptCount = attempts === 1 ? "1 attempt" : `${attempts} attempts`;
  if (status === "delivered") return `Returned ${responseStatus ?? "a success status"}, ${attemptCount}`;
  if (attempts === 0) return error === null ? "Waiting to be sent" : `Not sent: ${errors[error] ?? error}`;
  const reason =
    error === "status" || error === null ? `status ${responseStatus ?? "unknown"}` : (errors[error] ?? error);
  return `${attemptCount}, last error: ${reason}`;
}
