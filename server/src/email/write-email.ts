export interface EmailEvent {
  type: string;
  data: Record<string, unknown>;
}

export interface EmailContext {
  walletName: string;
  topUpUrl: string;
  price: string;
}

export interface EmailMessage {
  subject: string;
  text: string;
}

/** Plain text without secrets. Undefined for events that send no email. */
export function writeAlertEmail({ type, data }: EmailEvent, context: EmailContext): EmailMessage | undefined {
  if (type === "wallet.low_balance") return writeLowBalance(data, context);
  return type === "webhook.disabled" ? writeEndpointDisabled(data, context) : undefined;
}

function writeLowBalance(data: Record<string, unknown>, { walletName, topUpUrl, price }: EmailContext): EmailMessage {
  return {
    subject: `Low balance in ${walletName}: ${String(data["balance"])} USD`,
    text: [
      `The balance of the wallet ${walletName} is ${String(data["balance"])} USD, below your alert threshold of ${String(data["low_balance"])} USD.`,
      `When the balance falls below ${price} USD, searches fail with 402 and are not charged until you top up.`,
      `Top up: ${topUpUrl}`,
      "You receive this alert at most once an hour. To change the threshold or the address, open Alerts in the console or use PUT /v1/wallet/alerts.",
    ].join("\n\n"),
  };
}

function writeEndpointDisabled(data: Record<string, unknown>, { walletName }: EmailContext): EmailMessage {
  const cause = data["reason"] === "gone" ? "it returned 410 Gone" : "every delivery failed for five days";
  // The path may contain a secret of the receiver; the host is enough to identify it.
  const host = new URL(String(data["url"])).host;
  return {
    subject: `Webhook endpoint disabled in ${walletName}`,
    text: [
      `Events of the wallet ${walletName} are no longer sent to ${host} because ${cause}.`,
      `The endpoint id is ${String(data["endpoint_id"])}. When the receiver works again, enable the endpoint under Alerts in the console, or with PATCH /v1/webhooks/{id} and {"enabled": true}. Missed events are listed in its deliveries and can be replayed.`,
    ].join("\n\n"),
  };
}
