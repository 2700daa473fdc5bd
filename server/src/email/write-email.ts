export interface EmailEvent {
  type: string;
  data: Record<string, unknown>;
}

export interface EmailContext {
  walletName: string;
  topUpUrl: string;
  /** In the console. */
  budgetsUrl: string;
  price: string;
}

export interface EmailMessage {
  subject: string;
  text: string;
}

/** Plain text without secrets. Undefined for events that send no email. */
export function writeAlertEmail({ type, data }: EmailEvent, context: EmailContext): EmailMessage | undefined {
  return messages[type]?.(data, context);
}

type Data = Record<string, unknown>;

// Listed in pb.dispatch_events too.
const messages: Record<string, (data: Data, context: EmailContext) => EmailMessage> = {
  "wallet.low_balance": writeLowBalance,
  "webhook.disabled": writeEndpointDisabled,
  "budget.threshold": writeBudgetThreshold,
  "budget.spent": writeBudgetSpent,
  "budget.increase_requested": writeIncreaseRequested,
};

function writeLowBalance(data: Data, { walletName, topUpUrl, price }: EmailContext): EmailMessage {
  return {
    subject: `Low balance in ${walletName}: ${String(data["balance"])} USD`,
    text: [
      `The balance of the wallet ${walletName} is ${String(data["balance"])} USD, below your alert threshold of ${String(data["low_balance"])} USD.`,
      `When the balance falls below ${price} USD, searches fail with 402 until you top up. They are not charged.`,
      `Top up: ${topUpUrl}`,
      "You receive this alert at most once an hour. To change the threshold or the address, open Alerts in the console or use PUT /v1/wallet/alerts.",
    ].join("\n\n"),
  };
}

function writeEndpointDisabled(data: Data, { walletName }: EmailContext): EmailMessage {
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

function writeBudgetThreshold(data: Data, { walletName, budgetsUrl }: EmailContext): EmailMessage {
  const percent = String(data["percent"]);
  return {
    subject: `Budget ${nameOf(data)} in ${walletName}: ${percent}% spent`,
    text: [
      `${describeSpending(data)} This is at least ${percent}% of the limit, and includes searches in flight.`,
      "When the budget does not cover another search, searches with its keys fail with 403 and are not charged.",
      `You receive this warning once per percentage and period. ${changeHint(budgetsUrl)}`,
    ].join("\n\n"),
  };
}

function writeBudgetSpent(data: Data, { walletName, budgetsUrl }: EmailContext): EmailMessage {
  const { resets_at: resetsAt } = data as { resets_at: string | null };
  const end = resetsAt === null ? "the amount is raised" : `${resetsAt}, or until the amount is raised`;
  return {
    subject: `Budget ${nameOf(data)} in ${walletName} is spent`,
    text: [
      `${describeSpending(data)} It does not cover another search.`,
      `Until ${end}, searches with its keys fail with 403. They are not charged.`,
      `You receive this email at most once an hour per budget. ${changeHint(budgetsUrl)}`,
    ].join("\n\n"),
  };
}

function writeIncreaseRequested(data: Data, { walletName, budgetsUrl }: EmailContext): EmailMessage {
  const { name: key } = data["key"] as { name: unknown };
  const amount = String(data["amount"]);
  return {
    subject: `${amount} USD more requested for the budget ${nameOf(data)} in ${walletName}`,
    text: [
      `The key ${String(key)} requests ${amount} USD more for ${String(data["hours"])} hours. The amount of the shared budget ${nameOf(data)} is ${String(data["limit"])} USD.`,
      `Approve or deny: ${budgetsUrl}`,
      "Approving requires a recent sign-in. If you do nothing, the request expires after 7 days. You receive at most ten of these emails an hour.",
    ].join("\n\n"),
  };
}

const changeHint = (budgetsUrl: string): string =>
  `To change the amount or the warnings: ${budgetsUrl}. To change the address, open Alerts in the console.`;

const nameOf = (data: Data): string => String((data["budget"] as { name: unknown }).name);

const describeSpending = (data: Data): string =>
  `${String(data["spent"])} USD of the ${String(data["limit"])} USD of the shared budget ${nameOf(data)} are spent.`;
