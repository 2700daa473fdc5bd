import { registerHooks } from "node:module";

// The real server with naive-ledger.ts in place of wallet.ts. The two servers differ only in batching, so the comparison
// stays fair as the server changes.

const walletUrl = new URL("../server/src/wallet/wallet.ts", import.meta.url).href;
const naiveUrl = new URL("./naive-ledger.ts", import.meta.url).href;
let hasReplaced = false;

registerHooks({
  resolve(specifier, context, nextResolve) {
    const found = nextResolve(specifier, context);
    if (found.url !== walletUrl || context.parentURL === naiveUrl) return found;
    hasReplaced = true;
    return { ...found, url: naiveUrl };
  },
});

await import("../server/src/main.ts");
if (!hasReplaced) throw new Error("main.ts no longer imports wallet.ts, so the naive ledger was not loaded");
