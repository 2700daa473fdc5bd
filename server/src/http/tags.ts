/** Groups of operations, in the order of the reference. */
export const tags = {
  Search: "Search the web. The only operation that costs money.",
  Searches: "Past searches, their outcomes and charges, and runs: budgets shared by several searches.",
  Wallet: "The prepaid balance, every entry of its ledger, and low-balance alerts.",
  "Top-ups": "Add money to the wallet with a payment page, or automatically from a saved card.",
  Usage: "Searches and charges by hour or day.",
  Keys: "Create, limit, rotate and revoke API keys.",
  Budgets: "Amounts that several keys spend from, per day, week or month or in total, or for each end user.",
  Webhooks: "Endpoints that receive signed events, and the log of their deliveries.",
  Activity: "Who changed what: keys, webhooks, alerts, members, apps, payments settings and sign-ins.",
  Receipts: "Signed receipts and proofs that can be verified offline.",
  Lenses: "The published rules that rank results.",
  Documents: "The description of this API, its error pages and contacts, and the status of the service.",
} as const;

export type Tag = keyof typeof tags;
