/** An event that an endpoint can subscribe to, as docs/webhooks.md describes it. */
interface EventDescription {
  /** When it is sent, and fields that need an explanation. */
  text: string;
  /** An example. server/test/stories/webhook-docs.test.ts compares it with a delivery. */
  data: Record<string, unknown>;
}

const walletId = "01a1dca0-1111-7d2b-aced-0d68680215be";

/** event-types.test.ts lists every place that repeats the types. */
const events = {
  "wallet.low_balance": {
    text: "The balance fell below `low_balance`. Set this threshold with `PUT /v1/wallet/alerts`.",
    data: {
      wallet_id: walletId,
      currency: "usd",
      balance: "4.99",
      low_balance: "5.00",
    },
  },
  "wallet.depleted": {
    text: "The balance fell below the price of a search. Searches return 402 until the wallet is topped up.",
    data: {
      wallet_id: walletId,
      currency: "usd",
      balance: "0.00",
      price: "0.01",
    },
  },
  "top_up.succeeded": {
    text: "A payment or the operator added money. `entry_id` is the ID of the entry in `GET /v1/wallet/entries`.",
    data: {
      wallet_id: walletId,
      currency: "usd",
      amount: "20.00",
      balance: "20.00",
      entry_id: "01a1dca0-2222-7d2b-aced-0d68680215be",
      payment_id: "invoice-2026-117",
    },
  },
  "top_up.failed": {
    text: "A payment failed. The balance did not change.",
    data: {
      wallet_id: walletId,
      currency: "usd",
      amount: "20.00",
      reason: "card_declined",
    },
  },
  "key.created": {
    text: "A key was created. `start` identifies the key but cannot be used to spend.",
    data: {
      wallet_id: walletId,
      key: {
        id: "01a1dca0-3333-7d2b-aced-0d68680215be",
        name: "crawler",
        mode: "live",
        start: "pb_live_Qm3x",
      },
    },
  },
  "key.rotated": {
    text: "A key was created to replace the key `rotated_from`.",
    data: {
      wallet_id: walletId,
      key: {
        id: "01a1dca0-4444-7d2b-aced-0d68680215be",
        name: "crawler",
        mode: "live",
        start: "pb_live_8dKz",
      },
      rotated_from: "01a1dca0-3333-7d2b-aced-0d68680215be",
    },
  },
  "key.revoked": {
    text: "A key was revoked and can no longer spend.",
    data: {
      wallet_id: walletId,
      key: {
        id: "01a1dca0-3333-7d2b-aced-0d68680215be",
        name: "crawler",
        mode: "live",
        start: "pb_live_Qm3x",
      },
    },
  },
  "key.budget_spent": {
    text: "The remaining budget of a key does not cover another search. `period` is `total`, `day` or `month`; `resets_at` is null for a total budget. Searches in flight count as spent.",
    data: {
      wallet_id: walletId,
      currency: "usd",
      budget_id: "01a1dca0-5555-7d2b-aced-0d68680215be",
      key: {
        id: "01a1dca0-3333-7d2b-aced-0d68680215be",
        name: "crawler",
        mode: "live",
        start: "pb_live_Qm3x",
      },
      period: "day",
      limit: "0.50",
      spent: "0.50",
      resets_at: "2026-11-16T00:00:00.000Z",
    },
  },
  "budget.threshold": {
    text: "A percentage in `alerts` of a shared budget was reached, at most once per percentage and period. `spent` and `limit` are the amounts when it was reached. Searches in flight count as spent, so a warning may be sent for a search that then fails.",
    data: {
      wallet_id: walletId,
      currency: "usd",
      budget: { id: "01a1dca0-5555-7d2b-aced-0d68680215be", name: "research" },
      percent: 80,
      period: "week",
      limit: "0.05",
      spent: "0.04",
      resets_at: "2026-11-16T00:00:00.000Z",
    },
  },
  "budget.spent": {
    text: "A shared budget does not cover another search. It is sent at most once an hour per budget.",
    data: {
      wallet_id: walletId,
      currency: "usd",
      budget: { id: "01a1dca0-5555-7d2b-aced-0d68680215be", name: "research" },
      period: "week",
      limit: "0.05",
      spent: "0.05",
      resets_at: "2026-11-16T00:00:00.000Z",
    },
  },
  "budget.increase_requested": {
    text: "A key asks for more of a shared budget, with `POST /v1/key/budget-requests`. A person approves or denies it in the console under Budgets. `limit` is the amount without the increase.",
    data: {
      wallet_id: walletId,
      currency: "usd",
      request_id: "01a1dca0-7777-7d2b-aced-0d68680215be",
      budget: { id: "01a1dca0-5555-7d2b-aced-0d68680215be", name: "research" },
      key: {
        id: "01a1dca0-3333-7d2b-aced-0d68680215be",
        name: "crawler",
        mode: "live",
        start: "pb_live_Qm3x",
      },
      amount: "1.00",
      hours: 24,
      limit: "0.05",
      period: "week",
    },
  },
  "service.incident": {
    text: "The operator has opened, updated or closed an incident, which the [status page](status-page.md) shows. `impact` is `degraded` or `outage`; `closed_at` is null while the incident is open. `text` is the latest update.",
    data: {
      wallet_id: walletId,
      incident_id: "01a1dca0-6666-7d2b-aced-0d68680215be",
      title: "Searches fail",
      impact: "outage",
      text: "The database is being restored.",
      opened_at: "2026-11-15T02:58:00.000Z",
      closed_at: null,
    },
  },
} satisfies Record<string, EventDescription>;

export type EventType = keyof typeof events;

export const eventTypes = Object.keys(events) as EventType[];

/** The sections of docs/webhooks.md. */
export function renderEvents(): string {
  const sections = Object.entries(events).map(([type, { text, data }]) => {
    const id = "01a1dca0-9422-7d2b-aced-0d68680215be";
    const example = { id, type, timestamp: "2026-11-15T03:00:00.000Z", data };
    return `### \`${type}\`\n\n${text}\n\n\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``;
  });
  return sections.join("\n\n");
}
