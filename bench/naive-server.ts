import { registerHooks } from "node:module";

// Our own server, all of it, but for the ledger: whoever imports wallet.ts gets naive-ledger.ts. So the comparison
// stays fair while the server changes: the two differ in batching and in nothing else.

const ours = new URL("../server/src/wallet/wallet.ts", import.meta.url).href;
const naive = new URL("./naive-ledger.ts", import.meta.url).href;
let hasReplaced = false;

registerHooks({
  resolve(specifier, context, nextResolve) {
    const found = nextResolve(specifier, context);
    if (found.url !== ours || context.parentURL === naive) return found;
    hasReplaced = true;
    return { ...found, url: naive };
  },
});

await import("../server/src/main.ts");
if (!hasReplaced) throw new Error("main.ts no longer imports wallet.ts: this would measure our server against itself");
