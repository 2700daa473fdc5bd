// Exercises the SDK and prints the results. sdk.test.ts strips the types, runs this with the packed SDK in each runtime
// and expects the same output from all of them.

import { Pennyblack, PennyblackError } from "@pennyblack/sdk";
import { verifyWebhook } from "@pennyblack/sdk/verify";

export interface ScenarioInput {
  baseUrl: string;
  keys: { live: string; test: string; management: string };
  webhook: { secret: string; body: string; headers: Record<string, string> };
  brokenUrls: { refused: string; closed: string; silent: string };
}

const { baseUrl, keys, webhook, brokenUrls } = JSON.parse(process.argv[2] ?? "") as ScenarioInput;
const live = new Pennyblack({ apiKey: keys.live, baseUrl });
const test = new Pennyblack({ apiKey: keys.test, baseUrl: `${baseUrl}/`, maxRetries: 0 });
const manager = new Pennyblack({ apiKey: keys.management, baseUrl });
const output: Record<string, unknown> = {};

const idempotencyKey = crypto.randomUUID();
const first = await live.search("  penny black ", { n: 3, category: "research", idempotencyKey });
const replay = await live.search("penny black", { n: 3, category: "research", idempotencyKey });
output["first"] = { query: first.query, n: first.n, length: first.results.length, charge: first.meta.charge };
output["fields"] = Object.keys(first.results[0] ?? {});
output["limit"] = first.meta.rateLimit?.limit;
output["steps"] = Object.keys(first.meta.timings);
output["upstreams"] = first.meta.upstreams;
output["again"] = {
  isSame: JSON.stringify(replay.results) === JSON.stringify(first.results),
  charge: replay.meta.charge,
};
output["replayed"] = [first.meta.replayed, replay.meta.replayed];

await live.search("the budget's first cent", { run: { id: "scenario", max: "0.01", ttl: 60 } });
output["budget"] = await errorOf(live.search("and no other", { run: { id: "scenario", max: "0.01" } }));
output["upstream"] = await errorOf(test.search("test:upstream_503"));
output["invalid"] = await errorOf(test.search("cats", { n: 21 }));
output["scope"] = await errorOf(test.wallet());
output["late"] = await errorOf(test.search("test:slow=3000", { wait: 1 }));

output["balance"] = (await manager.wallet()).balance;
const entries: string[] = [];
for await (const entry of manager.entries({ limit: 2 })) entries.push(`${entry.kind} ${entry.amount}`);
output["entries"] = entries;
output["single"] = (await manager.entries({ limit: 1 }).page()).items.length;
const charges = await manager.entries({ requestId: first.meta.requestId }).page();
output["charges"] = charges.items.map((entry) => entry.amount);

output["refused"] = await errorOf(clientFor(brokenUrls.refused).search("cats"));
output["closed"] = await errorOf(clientFor(brokenUrls.closed).search("cats"));
output["silent"] = await errorOf(clientFor(brokenUrls.silent).search("cats", { timeoutMs: 200 }));
output["aborted"] = await errorOf(clientFor(brokenUrls.silent).search("cats", { signal: AbortSignal.timeout(100) }));
output["never"] = await errorOf(test.search("cats", { signal: AbortSignal.abort() }));

output["event"] = (await verifyWebhook(webhook.body, webhook.headers, webhook.secret)).type;
output["bytes"] = (
  await verifyWebhook(new TextEncoder().encode(webhook.body), new Headers(webhook.headers), webhook.secret)
).type;
output["tampered"] = await errorOf(verifyWebhook(`${webhook.body} `, webhook.headers, webhook.secret));

let userAgent = "";
const recordUserAgent: typeof fetch = (input, init) => {
  userAgent = new Headers(init?.headers).get("user-agent") ?? "";
  return fetch(input, init);
};
output["fromEnvironment"] = (await new Pennyblack({ fetch: recordUserAgent }).key()).mode;
output["isRuntimeNamed"] = /^pennyblack-sdk\/[\d.]+ (?:node|deno|bun)\/\d+\.[\d.]+$/.test(userAgent);
console.log(JSON.stringify(output));

function clientFor(baseUrl: string): Pennyblack {
  return new Pennyblack({ apiKey: keys.test, baseUrl, maxRetries: 1 });
}

function errorOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "succeeded",
    (error: unknown) => {
      if (error instanceof PennyblackError) return `${error.name} ${error.code} charged=${error.charged}`;
      return (error as Error).name;
    },
  );
}
