import type { Transport } from "../../../src/usage/usage.ts";
import type { Browser } from "../console-fixture.ts";
import type { Reply, TestServer } from "../services/server.ts";

// One search through each transport.

export interface SentSearch {
  key: { id: string; key: string };
  query: string;
  /** Headers of the search, such as Idempotency-Key. */
  headers?: Record<string, string>;
}

/** Returns what the caller sees: `ok`, `replayed`, or the problem code. */
export type SendSearch = (search: SentSearch) => Promise<string>;

/** The playground is that of a signed-in browser. */
export function createTransports(
  server: Pick<TestServer, "request">,
  { browser, walletId }: { browser: Browser; walletId: string },
): Record<Transport, SendSearch> {
  const post = (path: string, { key, headers }: SentSearch, body: object): Promise<Reply> =>
    server.request(path, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key.key}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
      },
      body: JSON.stringify(body),
    });
  return {
    http: async (search) => outcomeOf(await post("/v1/search", search, { query: search.query })),
    compat: async (search) => outcomeOf(await post("/compat/tavily/search", search, { query: search.query })),
    async mcp(search) {
      const params = { name: "web_search", arguments: { query: search.query } };
      const reply = await post("/mcp", search, { jsonrpc: "2.0", id: 1, method: "tools/call", params });
      return /Reason: (\w+),/.exec(reply.text)?.[1] ?? outcomeOf(reply);
    },
    async playground({ key, query, headers }) {
      for (;;) {
        const body = { key_id: key.id, query };
        const reply = await browser.send("POST", `wallets/${walletId}/playground/search`, body, headers);
        // The limits of a signed-in person apply before the key is read, so this was not a request of the key.
        if (!/^(?:wallet_management|network)_/.test(reply.body.exceeded?.limit)) return outcomeOf(reply);
      }
    },
  };
}

function outcomeOf({ status, headers, body }: Reply): string {
  if (status !== 200) return body.code;
  return headers.has("idempotent-replayed") ? "replayed" : "ok";
}
