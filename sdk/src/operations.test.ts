import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Pennyblack } from "./sdk.ts";

// Calls every method with a recording fetch, and compares the requests with openapi.json.

interface Operation {
  operationId: string;
  parameters?: { name?: string; in?: string; $ref?: string }[];
}
interface Openapi {
  paths: Record<string, Record<string, Operation>>;
  components: { parameters: Record<string, { name: string; in: string }> };
}

const openapi = JSON.parse(readFileSync(new URL("../../openapi.json", import.meta.url), "utf8")) as Openapi;
const operations = Object.entries(openapi.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ ...operation, path, method: method.toUpperCase() })),
);
// Called by the payment processor.
const notForCallers = ["receiveStripeEvent"];

const id = "7f0c";
const callBudgets = (client: Pennyblack): Record<string, () => PromiseLike<unknown>> => ({
  listBudgets: () => client.budgets.list({ limit: 5 }).page("c"),
  createBudget: () => client.budgets.create({ mode: "live", name: "team", amount: "1.00", period: "week" }),
  getBudget: () => client.budgets.get(id),
  updateBudget: () => client.budgets.update(id, { amount: "2.00" }),
  requestBudget: () => client.budgets.request({ budget: id, amount: "1.00", hours: 24 }),
  archiveBudget: () => client.budgets.archive(id),
});
const call = (client: Pennyblack): Record<string, () => PromiseLike<unknown>> => ({
  createSearch: () => client.search("q"),
  listLenses: () => client.lenses.list().page(),
  getLens: () => client.lenses.get(id),
  inspectLens: () => client.lenses.inspect(id, "https://a.example/"),
  getWallet: () => client.wallet(),
  listEntries: () =>
    client.entries({ requestId: id, from: "2026-01-01", to: "2026-02-01", kind: "search", limit: 5 }).page("c"),
  exportEntries: () => client.exportEntries({ from: "2026-01-01", to: "2026-02-01" }),
  getWalletProof: () => client.proof({ until: new Date(0) }),
  getSearchReceipt: () => client.receipt(id),
  getTopUpReceipt: () => client.topUps.receipt(id),
  getCurrentKey: () => client.key(),
  listKeys: () => client.keys.list({ limit: 5 }).page("c"),
  createKey: () => client.keys.create({ mode: "live", name: "agent" }),
  getKey: () => client.keys.get(id),
  updateKey: () => client.keys.update(id, { name: "agent" }),
  revokeKey: () => client.keys.revoke(id),
  rotateKey: () => client.keys.rotate(id, { graceSeconds: 60 }),
  ...callBudgets(client),
  listSearches: () => {
    const filter = { kind: "all", outcome: "failed", keyId: id, for: "a", mode: "live", category: "gov" } as const;
    return client.searches.list({ ...filter, run: "nightly", from: new Date(0), to: "2026-02-01", limit: 5 }).page("c");
  },
  getSearch: () => client.searches.get(id),
  listRuns: () => client.runs.list({ from: new Date(0), limit: 5 }).page("c"),
  getUsage: () =>
    client.usage({ from: new Date(0), to: new Date(1), by: "day", group: ["end_user"], for: "a", limit: 5 }).page("c"),
  getWalletSummary: () => client.summary({ mode: "test" }),
  getAlerts: () => client.alerts.get(),
  getEndUserSettings: () => client.endUsers.get(),
  setEndUserSettings: () => client.endUsers.update({ ids: "plain" }),
  setAlerts: () => client.alerts.update({ email: null, low_balance: "1.00" }),
  listWebhooks: () => client.webhooks.list().page(),
  createWebhook: () => client.webhooks.create({ url: "https://hooks.example/" }),
  getWebhook: () => client.webhooks.get(id),
  updateWebhook: () => client.webhooks.update(id, { enabled: false }),
  deleteWebhook: () => client.webhooks.delete(id),
  rotateWebhookSecret: () => client.webhooks.rotateSecret(id),
  listDeliveries: () => client.webhooks.deliveries.list(id, { limit: 5 }).page("c"),
  testWebhook: () => client.webhooks.test(id),
  replayDelivery: () => client.webhooks.deliveries.replay(id),
  listActivity: () => {
    const filter = {
      act: "key",
      actor: "person",
      actorId: id,
      subjectId: id,
      from: new Date(0),
      to: "2026-02-01",
    } as const;
    return client.activity.list({ ...filter, limit: 5 }).page("c");
  },
  exportActivity: () =>
    client.activity.export({
      act: "key",
      actor: "key",
      actorId: id,
      subjectId: id,
      from: "2026-01-01",
      to: new Date(1),
    }),
  createTopUp: () => client.topUps.create({ amount: "20.00" }),
  listTopUps: () => client.topUps.list({ limit: 5 }).page("c"),
  getTopUp: () => client.topUps.get(id),
  getAutoTopUp: () => client.autoTopUp.get(),
  setAutoTopUp: () => client.autoTopUp.update({ threshold: "1.00", amount: "20.00", monthly_cap: "100.00" }),
  deleteAutoTopUp: () => client.autoTopUp.delete(),
  listSigningKeys: () => client.jwks(),
});

test("there is a method for every operation of /v1", () => {
  const expected = operations.filter(({ path }) => path.startsWith("/v1/")).map(({ operationId }) => operationId);
  const missing = expected.filter(
    (name) => !notForCallers.includes(name) && !Object.hasOwn(call(recorder().client), name),
  );
  assert.deepEqual(missing, []);
});

for (const name of Object.keys(call(recorder().client))) {
  test(`the method for ${name} sends its method, its path and all its query parameters`, async () => {
    const { client, sent } = recorder();
    await call(client)[name]?.();
    const operation = operations.find(({ operationId }) => operationId === name);
    assert.ok(operation, "not in openapi.json");
    const url = new URL(sent[0]?.url ?? "");
    assert.equal(sent.length, 1);
    assert.equal(`${sent[0]?.method} ${url.pathname}`, `${operation.method} ${operation.path.replace(/\{\w+\}/, id)}`);
    assert.deepEqual([...url.searchParams.keys()].toSorted(), queryParametersOf(operation));
  });
}

function queryParametersOf({ parameters = [] }: Operation): string[] {
  const resolved = parameters.map((parameter) =>
    parameter.$ref === undefined ? parameter : openapi.components.parameters[parameter.$ref.split("/").at(-1) ?? ""],
  );
  return resolved.flatMap((parameter) => (parameter?.in === "query" ? [parameter.name ?? ""] : [])).toSorted();
}

const listNames = "results lenses entries keys budgets searches runs usage endpoints deliveries top_ups activity".split(
  " ",
);
const emptyLists = Object.fromEntries(listNames.map((name) => [name, []]));

function recorder() {
  const sent: { method: string; url: string }[] = [];
  const fetch = (url: unknown, init?: RequestInit) => {
    sent.push({ method: init?.method ?? "", url: String(url) });
    const path = new URL(String(url)).pathname;
    if (path.endsWith(".csv")) return Promise.resolve(new Response("", { headers: { "content-type": "text/csv" } }));
    if (path.endsWith(".jsonl"))
      return Promise.resolve(new Response("", { headers: { "content-type": "application/jsonl" } }));
    if (/^\/v1\/lenses\/[^/]+$/.test(path)) return Promise.resolve(new Response(""));
    return Promise.resolve(Response.json(emptyLists));
  };
  return { client: new Pennyblack({ apiKey: "k", baseUrl: "http://api.test", fetch }), sent };
}
