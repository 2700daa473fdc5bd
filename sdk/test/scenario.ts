// What a caller does with the SDK, and what it sees. sdk.test.ts strips its types and runs it with the packed SDK in each
// runtime; all must print the same.

import { Pennyblack, PennyblackError, verifyWebhook } from "@pennyblack/sdk";

export interface Task {
  baseUrl: string;
  keys: { live: string; test: string; management: string };
  webhook: { secret: string; body: string; headers: Record<string, string> };
  addresses: { refused: string; closed: string; silent: string };
}

const { baseUrl, keys, webhook, addresses } = JSON.parse(process.argv[2] ?? "") as Task;
const live = new Pennyblack({ apiKey: keys.live, baseUrl });
const test = new Pennyblack({ apiKey: keys.test, baseUrl: `${baseUrl}/`, maxRetries: 0 });
const manager = new Pennyblack({ apiKey: keys.management, baseUrl });
const seen: Record<string, unknown> = {};

const idempotencyKey = crypto.randomUUID();
const first = await live.search("  penny black ", { n: 3, category: "research", idempotencyKey });
const again = await live.search("penny black", { n: 3, category: "research", idempotencyKey });
seen["first"] = { query: first.query, n: first.n, length: first.results.length, charge: first.meta.charge };
seen["fields"] = Object.keys(first.results[0] ?? {});
seen["limit"] = first.meta.rateLimit?.limit;
seen["steps"] = Object.keys(first.meta.timings);
seen["upstreams"] = first.meta.upstreams;
seen["again"] = { isSame: JSON.stringify(again.results) === JSON.stringify(first.results), charge: again.meta.charge };
seen["replayed"] = [first.meta.replayed, again.meta.replayed];

await live.search("the budget's first cent", { run: { id: "scenario", max: "0.01", ttl: 60 } });
seen["budget"] = await failure(live.search("and no other", { run: { id: "scenario", max: "0.01" } }));
seen["upstream"] = await failure(test.search("test:upstream_503"));
seen["invalid"] = await failure(test.search("cats", { n: 21 }));
seen["scope"] = await failure(test.wallet());
seen["late"] = await failure(test.search("test:slow=3000", { wait: 1 }));

seen["balance"] = (await manager.wallet()).balance;
const entries: string[] = [];
for await (const entry of manager.entries({ limit: 2 })) entries.push(`${entry.kind} ${entry.amount}`);
seen["entries"] = entries;
seen["single"] = (await manager.entries({ limit: 1 }).page()).items.length;
const charges = await manager.entries({ requestId: first.meta.requestId }).page();
seen["charges"] = charges.items.map((entry) => entry.amount);

seen["refused"] = await failure(at(addresses.refused).search("cats"));
seen["closed"] = await failure(at(addresses.closed).search("cats"));
seen["silent"] = await failure(at(addresses.silent).search("cats", { timeoutMs: 200 }));
seen["aborted"] = await failure(at(addresses.silent).search("cats", { signal: AbortSignal.timeout(100) }));
seen["never"] = await failure(test.search("cats", { signal: AbortSignal.abort() }));

seen["event"] = (await verifyWebhook(webhook.body, webhook.headers, webhook.secret)).type;
seen["bytes"] = (
  await verifyWebhook(new TextEncoder().encode(webhook.body), new Headers(webhook.headers), webhook.secret)
).type;
seen["tampered"] = await failure(verifyWebhook(`${webhook.body} `, webhook.headers, webhook.secret));
console.log(JSON.stringify(seen));

function at(address: string): Pennyblack {
  return new Pennyblack({ apiKey: keys.test, baseUrl: address, maxRetries: 1 });
}

function failure(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "it succeeded",
    (error: unknown) => {
      if (error instanceof PennyblackError) return `${error.name} ${error.code} charged=${error.charged}`;
      return (error as Error).name;
    },
  );
}
