export interface MailEvent {
  type: string;
  data: Record<string, unknown>;
}

export interface MailContext {
  walletName: string;
  /** Where the wallet's owner adds money. */
  topUpUrl: string;
  price: string;
}

export interface Mail {
  subject: string;
  text: string;
}

/** A short plain text, with nothing in it that a reader over the shoulder could use. Nothing for other events. */
export function writeMail({ type, data }: MailEvent, context: MailContext): Mail | undefined {
  if (type === "wallet.low_balance") return writeLowBalance(data, context);
  return type === "webhook.disabled" ? writeDisabled(data, context) : undefined;
}

function writeLowBalance(data: Record<string, unknown>, { walletName, topUpUrl, price }: MailContext): Mail {
  return {
    subject: `The balance of ${walletName} is low: ${String(data["balance"])} USD`,
    text: [
      `The wallet ${walletName} holds ${String(data["balance"])} USD, less than the ${String(data["low_balance"])} USD you asked to be told about.`,
      `When less than ${price} USD is left, searches are refused with 402 and cost nothing, until the wallet is topped up.`,
      `Top up here: ${topUpUrl}`,
      "You get at most one such message an hour. PUT /v1/wallet/alerts changes the amount or the address.",
    ].join("\n\n"),
  };
}

function writeDisabled(data: Record<string, unknown>, { walletName }: MailContext): Mail {
  const cause = data["reason"] === "gone" ? "it answered 410 Gone" : "every delivery failed for five days";
  // The path may hold a token of the receiver's; the host is enough to recognise it.
  const host = new URL(String(data["url"])).host;
  return {
    subject: `A webhook endpoint of ${walletName} was disabled`,
    text: [
      `Events of the wallet ${walletName} are no longer sent to ${host}, because ${cause}.`,
      `The endpoint is ${String(data["endpoint_id"])}. When the receiver works again, enable it with PATCH /v1/webhooks/{id} and {"enabled": true}. What was missed is listed under its deliveries and can be replayed.`,
    ].join("\n\n"),
  };
}
