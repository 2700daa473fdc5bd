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
};

export function renderSdkCall(operationId: string, example: ReferenceExample): string | undefined {
  return sdkCalls[operationId]?.(example);
}
