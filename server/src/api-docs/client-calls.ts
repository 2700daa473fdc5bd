import type { ReferenceExample } from "./reference-example.ts";

/** A call of a client. Names are written as in the API; each client has them in its own notation. */
export interface ClientCall {
  /** Such as `keys.get`. */
  method: string;
  args?: unknown[];
  /** Named arguments. */
  options?: Record<string, unknown>;
  /** The objects that the method lists. */
  item?: string;
  /** Fetches the first page instead of the whole list. */
  isPage?: boolean;
}

const idOf = ({ path = {} }: ReferenceExample): unknown[] => [path["id"]];
const bodyOf = ({ body }: ReferenceExample): unknown[] => [body];
const both = (example: ReferenceExample): unknown[] => [...idOf(example), ...bodyOf(example)];

/** The method of the clients for each operation. The other operations are called without a client. */
const calls: Record<string, (example: ReferenceExample) => ClientCall> = {
  createSearch: ({ body }) => {
    const { query, ...options } = body as { query: string };
    return { method: "search", args: [query], options };
  },
  getWallet: () => ({ method: "wallet" }),
  listEntries: () => ({ method: "entries", item: "entry" }),
  exportEntries: () => ({ method: "export_entries" }),
  getWalletProof: () => ({ method: "proof" }),
  getSearchReceipt: (example) => ({ method: "receipt", args: idOf(example) }),
  getTopUpReceipt: (example) => ({ method: "top_ups.receipt", args: idOf(example) }),
  listSigningKeys: () => ({ method: "jwks" }),
  getUsage: ({ query = {} }) => {
    const options = { ...query, group: query["group"]?.split(",") };
    return { method: "usage", options, item: "period" };
  },
  getCurrentKey: () => ({ method: "key" }),
  listKeys: () => ({ method: "keys.list", item: "key" }),
  getKey: (example) => ({ method: "keys.get", args: idOf(example) }),
  createKey: (example) => ({ method: "keys.create", args: bodyOf(example) }),
  updateKey: (example) => ({ method: "keys.update", args: both(example) }),
  rotateKey: (example) => ({
    method: "keys.rotate",
    args: idOf(example),
    options: example.body as Record<string, unknown>,
  }),
  revokeKey: (example) => ({ method: "keys.revoke", args: idOf(example) }),
  listBudgets: () => ({ method: "budgets.list", item: "budget" }),
  getBudget: (example) => ({ method: "budgets.get", args: idOf(example) }),
  createBudget: (example) => ({ method: "budgets.create", args: bodyOf(example) }),
  updateBudget: (example) => ({ method: "budgets.update", args: both(example) }),
  requestBudget: (example) => ({ method: "budgets.request", args: bodyOf(example) }),
  archiveBudget: (example) => ({ method: "budgets.archive", args: idOf(example) }),
  createTopUp: (example) => ({ method: "top_ups.create", args: bodyOf(example) }),
  listTopUps: () => ({ method: "top_ups.list", item: "top_up" }),
  getTopUp: (example) => ({ method: "top_ups.get", args: idOf(example) }),
  getAutoTopUp: () => ({ method: "auto_top_up.get" }),
  setAutoTopUp: (example) => ({ method: "auto_top_up.update", args: bodyOf(example) }),
  deleteAutoTopUp: () => ({ method: "auto_top_up.delete" }),
  listSearches: ({ query = {} }) => ({
    method: "searches.list",
    options: { limit: Number(query["limit"]) },
    isPage: true,
  }),
  getSearch: (example) => ({ method: "searches.get", args: idOf(example) }),
  listRuns: () => ({ method: "runs.list", item: "run" }),
  getWalletSummary: () => ({ method: "summary" }),
  getAlerts: () => ({ method: "alerts.get" }),
  setAlerts: (example) => ({ method: "alerts.update", args: bodyOf(example) }),
  getEndUserSettings: () => ({ method: "end_users.get" }),
  setEndUserSettings: (example) => ({ method: "end_users.update", args: bodyOf(example) }),
  listWebhooks: () => ({ method: "webhooks.list", item: "webhook" }),
  createWebhook: (example) => ({ method: "webhooks.create", args: bodyOf(example) }),
  getWebhook: (example) => ({ method: "webhooks.get", args: idOf(example) }),
  updateWebhook: (example) => ({ method: "webhooks.update", args: both(example) }),
  deleteWebhook: (example) => ({ method: "webhooks.delete", args: idOf(example) }),
  rotateWebhookSecret: (example) => ({ method: "webhooks.rotate_secret", args: idOf(example) }),
  testWebhook: (example) => ({ method: "webhooks.test", args: idOf(example) }),
  listDeliveries: (example) => ({ method: "webhooks.deliveries.list", args: idOf(example), item: "delivery" }),
  replayDelivery: (example) => ({ method: "webhooks.deliveries.replay", args: idOf(example) }),
  listActivity: ({ query = {} }) => ({ method: "activity.list", options: query, item: "line" }),
  exportActivity: () => ({ method: "activity.export" }),
  listLenses: () => ({ method: "lenses.list", item: "lens" }),
  inspectLens: ({ path = {}, query = {} }) => ({ method: "lenses.inspect", args: [path["name"], query["url"]] }),
  getLens: ({ path = {} }) => ({ method: "lenses.get", args: [path["name"]] }),
};

export function findClientCall(operationId: string, example: ReferenceExample): ClientCall | undefined {
  return calls[operationId]?.(example);
}
