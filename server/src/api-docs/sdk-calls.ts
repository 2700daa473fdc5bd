import { type ReferenceExample, toLiteral } from "./reference-example.ts";

type Render = (example: ReferenceExample) => string;

const print = (call: string): string => `console.log(await ${call});`;
const printAll = (name: string, call: string): string => `for await (const ${name} of ${call}) console.log(${name});`;
const idOf = ({ path = {} }: ReferenceExample): string => JSON.stringify(path["id"]);
const bodyOf = ({ body }: ReferenceExample): string => toLiteral(body);

/** The SDK's method for each operation. Operations without one are shown with `fetch`. */
const sdkCalls: Record<string, Render> = {
  createSearch: ({ body }) => {
    const { query, ...options } = body as { query: string };
    const call = `pennyblack.search(${JSON.stringify(query)}, ${toLiteral(options)})`;
    return `const { results, meta } = await ${call};\nconsole.log(results, meta.charge);`;
  },
  getWallet: () => print("pennyblack.wallet()"),
  listEntries: () => printAll("entry", "pennyblack.entries()"),
  exportEntries: () => print("pennyblack.exportEntries()"),
  getWalletProof: () => print("pennyblack.proof()"),
  getSearchReceipt: (example) => print(`pennyblack.receipt(${idOf(example)})`),
  getTopUpReceipt: (example) => print(`pennyblack.topUps.receipt(${idOf(example)})`),
  listSigningKeys: () => print("pennyblack.jwks()"),
  getUsage: ({ query = {} }) =>
    printAll("period", `pennyblack.usage(${toLiteral({ ...query, group: query["group"]?.split(",") })})`),
  getCurrentKey: () => print("pennyblack.key()"),
  listKeys: () => printAll("key", "pennyblack.keys.list()"),
  getKey: (example) => print(`pennyblack.keys.get(${idOf(example)})`),
  createKey: (example) => print(`pennyblack.keys.create(${bodyOf(example)})`),
  updateKey: (example) => print(`pennyblack.keys.update(${idOf(example)}, ${bodyOf(example)})`),
  rotateKey: (example) => {
    const { grace_seconds: graceSeconds } = example.body as { grace_seconds: number };
    return print(`pennyblack.keys.rotate(${idOf(example)}, ${toLiteral({ graceSeconds })})`);
  },
  revokeKey: (example) => print(`pennyblack.keys.revoke(${idOf(example)})`),
  createTopUp: (example) => print(`pennyblack.topUps.create(${bodyOf(example)})`),
  listTopUps: () => printAll("topUp", "pennyblack.topUps.list()"),
  getTopUp: (example) => print(`pennyblack.topUps.get(${idOf(example)})`),
  getAutoTopUp: () => print("pennyblack.autoTopUp.get()"),
  setAutoTopUp: (example) => print(`pennyblack.autoTopUp.update(${bodyOf(example)})`),
  deleteAutoTopUp: () => print("pennyblack.autoTopUp.delete()"),
  listSearches: ({ query = {} }) =>
    print(`pennyblack.searches.list(${toLiteral({ limit: Number(query["limit"]) })}).page()`),
  getSearch: (example) => print(`pennyblack.searches.get(${idOf(example)})`),
  listRuns: () => printAll("run", "pennyblack.runs.list()"),
  getWalletSummary: () => print("pennyblack.summary()"),
  getAlerts: () => print("pennyblack.alerts.get()"),
  setAlerts: (example) => print(`pennyblack.alerts.update(${bodyOf(example)})`),
  getEndUserSettings: () => print("pennyblack.endUsers.get()"),
  setEndUserSettings: (example) => print(`pennyblack.endUsers.update(${bodyOf(example)})`),
  listWebhooks: () => printAll("webhook", "pennyblack.webhooks.list()"),
  createWebhook: (example) => print(`pennyblack.webhooks.create(${bodyOf(example)})`),
  getWebhook: (example) => print(`pennyblack.webhooks.get(${idOf(example)})`),
  updateWebhook: (example) => print(`pennyblack.webhooks.update(${idOf(example)}, ${bodyOf(example)})`),
  deleteWebhook: (example) => print(`pennyblack.webhooks.delete(${idOf(example)})`),
  rotateWebhookSecret: (example) => print(`pennyblack.webhooks.rotateSecret(${idOf(example)})`),
  testWebhook: (example) => print(`pennyblack.webhooks.test(${idOf(example)})`),
  listDeliveries: (example) => printAll("delivery", `pennyblack.webhooks.deliveries.list(${idOf(example)})`),
  replayDelivery: (example) => print(`pennyblack.webhooks.deliveries.replay(${idOf(example)})`),
  listLenses: () => printAll("lens", "pennyblack.lenses.list()"),
  inspectLens: ({ path = {}, query = {} }) =>
    print(`pennyblack.lenses.inspect(${JSON.stringify(path["name"])}, ${JSON.stringify(query["url"])})`),
  getLens: ({ path = {} }) => print(`pennyblack.lenses.get(${JSON.stringify(path["name"])})`),
};

export function renderSdkCall(operationId: string, example: ReferenceExample): string | undefined {
  return sdkCalls[operationId]?.(example);
}
