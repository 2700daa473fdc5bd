import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
} from "@modelcontextprotocol/server";
import fc, { type Arbitrary } from "fast-check";
import { createFixture } from "../../fixture.ts";

// Sends generated JSON-RPC messages to POST /mcp: valid ones, mutated ones, and bytes that are not a message. Long form:
// `npm run fuzz:mcp -- --messages 10000`.

export interface McpFuzzReport {
  sent: number;
  /** Responses by status. */
  statuses: Record<string, number>;
  /** Searches that a response states as charged. */
  charged: number;
  /** A response with an unexpected status, or none in time. */
  failures: string[];
  maxMs: number;
}

interface Input {
  body: string;
  headers: Record<string, string>;
}

const revisions = fc.constantFrom(
  "2026-07-28",
  "2025-11-25",
  "2025-06-18",
  "2025-03-26",
  "2099-01-01",
  "",
  "x".repeat(300),
);
const odd: Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, -1, 1.5, 1e308, "", [], {}, "__proto__", "\u0000", "x".repeat(5_000)),
  fc.jsonValue({ maxDepth: 4 }),
);
const methods = fc.constantFrom<unknown>(
  ..."initialize ping tools/list tools/call tools/call tools/call server/discover subscriptions/listen".split(" "),
  ..."notifications/initialized notifications/cancelled notifications/progress resources/list resources/read".split(
    " ",
  ),
  ..."prompts/list prompts/get completion/complete logging/setLevel tasks/get tasks/cancel sampling/createMessage".split(
    " ",
  ),
  ..."__proto__ constructor toString".split(" "),
  "",
  7,
  null,
);
const run = fc.record(
  {
    id: fc.oneof(fc.constantFrom("a", "b; max=9", "é", ""), odd),
    max: fc.oneof(fc.constantFrom("0.01", "1e9", "-1"), odd),
    ttl: odd,
  },
  { requiredKeys: [] },
);
const searchArguments = fc.record(
  {
    query: fc.oneof(
      { weight: 5, arbitrary: fc.constantFrom("cats", "test:upstream_503", "test:empty") },
      { weight: 1, arbitrary: odd },
    ),
    n: fc.oneof({ weight: 3, arbitrary: fc.integer({ min: 1, max: 20 }) }, { weight: 1, arbitrary: odd }),
    run: fc.oneof(run, odd),
    extra: odd,
  },
  { requiredKeys: ["query"] },
);
const envelope = fc.record(
  {
    [PROTOCOL_VERSION_META_KEY]: fc.oneof(
      { weight: 6, arbitrary: fc.constant("2026-07-28") },
      { weight: 1, arbitrary: fc.oneof(revisions, odd) },
    ),
    [CLIENT_INFO_META_KEY]: fc.oneof(
      { weight: 6, arbitrary: fc.constant({ name: "fuzz", version: "0" }) },
      { weight: 1, arbitrary: odd },
    ),
    [CLIENT_CAPABILITIES_META_KEY]: fc.oneof({ weight: 6, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: odd }),
    progressToken: fc.oneof(fc.integer(), fc.string(), odd),
  },
  { requiredKeys: [PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY] },
);
const params = fc.record(
  {
    name: fc.oneof(
      { weight: 5, arbitrary: fc.constantFrom("web_search", "get_balance") },
      { weight: 1, arbitrary: odd },
    ),
    arguments: fc.oneof({ weight: 5, arbitrary: searchArguments }, { weight: 1, arbitrary: odd }),
    _meta: fc.oneof({ weight: 5, arbitrary: envelope }, { weight: 1, arbitrary: odd }),
    requestId: odd,
    protocolVersion: fc.oneof(revisions, odd),
    capabilities: fc.oneof(fc.constant({}), odd),
    clientInfo: fc.oneof(fc.constant({ name: "fuzz", version: "0" }), odd),
    notifications: odd,
    uri: odd,
    cursor: odd,
  },
  { requiredKeys: [] },
);
const message = fc.record(
  {
    jsonrpc: fc.oneof({ weight: 9, arbitrary: fc.constant("2.0") }, { weight: 1, arbitrary: odd }),
    id: fc.oneof({ weight: 5, arbitrary: fc.integer() }, { weight: 1, arbitrary: odd }),
    method: methods,
    params: fc.oneof({ weight: 9, arbitrary: params }, { weight: 1, arbitrary: odd }),
    result: odd,
    error: odd,
  },
  { requiredKeys: ["jsonrpc", "method", "params"] },
);
const bodies = fc.oneof(
  { weight: 12, arbitrary: message.map((value) => JSON.stringify(value)) },
  { weight: 1, arbitrary: fc.tuple(message, fc.nat(200)).map(([value, end]) => JSON.stringify(value).slice(0, end)) },
  { weight: 1, arbitrary: fc.array(message, { maxLength: 3 }).map((value) => JSON.stringify(value)) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      `${"[".repeat(8_000)}${"]".repeat(8_000)}`,
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${'{"a":'.repeat(2_500)}1${"}".repeat(2_500)}}`,
      '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}',
      '{"__proto__":{"method":"tools/call"},"jsonrpc":"2.0","id":1}',
      "\uFEFF{}",
      "x".repeat(20_000),
      "",
    ),
  },
);
const oddInputs: Arbitrary<Input> = fc.record({
  body: bodies,
  headers: fc.record(
    {
      accept: fc.constantFrom("application/json, text/event-stream", "*/*", "text/html"),
      "content-type": fc.constantFrom("application/json", "application/json; charset=utf-8", "text/plain"),
      "mcp-protocol-version": revisions,
      "mcp-method": fc.constantFrom("tools/call", "tools/list", "ping", "x"),
      "mcp-name": fc.constantFrom("web_search", "get_balance", "x"),
      "mcp-session-id": fc.constantFrom("a", "b", "x".repeat(500)),
      "idempotency-key": fc.constantFrom("one", "two", "x".repeat(300)),
    },
    { requiredKeys: ["accept", "content-type"] },
  ),
});

/** Calls that reach a tool, with odd arguments, and at most one odd member of the message. */
const toolCalls: Arbitrary<Input> = fc
  .record({
    isCurrent: fc.boolean(),
    name: fc.constantFrom("web_search", "web_search", "get_balance", "x"),
    input: fc.oneof(
      fc.constantFrom({ query: "cats" }, { query: "cats", n: 3, run: { id: "fuzz", max: "0.50" } }),
      searchArguments,
    ),
    isStreamed: fc.boolean(),
    member: fc.option(fc.constantFrom("jsonrpc", "id", "method", "name", "arguments", "_meta"), { freq: 1 }),
    value: odd,
  })
  .map(({ isCurrent, name, input, isStreamed, member, value }) => {
    const meta = {
      ...(isCurrent && {
        [PROTOCOL_VERSION_META_KEY]: "2026-07-28",
        [CLIENT_INFO_META_KEY]: { name: "fuzz", version: "0" },
        [CLIENT_CAPABILITIES_META_KEY]: {},
      }),
      ...(isStreamed && { progressToken: 1 }),
    };
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: input, _meta: meta } };
    const target: Record<string, unknown> = member !== null && member in call ? call : call.params;
    if (member !== null) target[member] = value;
    const headers = {
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      "mcp-protocol-version": isCurrent ? "2026-07-28" : "2025-11-25",
      ...(isCurrent && { "mcp-method": "tools/call", "mcp-name": name }),
    };
    return { body: JSON.stringify(call), headers };
  });

const inputs = fc.oneof(oddInputs, toolCalls);

const hangAfterMs = 60_000;
const atOnce = 8;

/** Half of the messages are sent with a live key, half with a test key. */
export async function runMcpFuzz({ messages, seed }: { messages: number; seed: number }): Promise<McpFuzzReport> {
  const fixture = await createFixture();
  const { server, createWallet, assertBooksBalance } = fixture;
  const report: McpFuzzReport = { sent: 0, statuses: {}, charged: 0, failures: [], maxMs: 0 };
  const wallet = await createWallet("500.00");
  const queue = fc.sample(inputs, { numRuns: messages, seed });

  async function send({ body, headers }: Input): Promise<void> {
    const key = report.sent % 2 === 0 ? wallet.live : wallet.test;
    report.sent += 1;
    const startedAt = performance.now();
    const init = { method: "POST", headers: { ...headers, authorization: `Bearer ${key}` }, body };
    const describe = (fault: string): string => `${fault}: ${JSON.stringify(headers)} ${body.slice(0, 1_000)}`;
    try {
      const reply = await server.request("/mcp", { ...init, signal: AbortSignal.timeout(hangAfterMs) });
      report.statuses[reply.status] = (report.statuses[reply.status] ?? 0) + 1;
      if (reply.status >= 500) report.failures.push(describe(`${reply.status} ${reply.text}`));
      if (reply.text.includes("Charged 0.01 USD.")) report.charged += 1;
    } catch (error) {
      report.failures.push(describe(String(error)));
    }
    report.maxMs = Math.max(report.maxMs, Math.round(performance.now() - startedAt));
  }

  async function work(): Promise<void> {
    for (let input = queue.pop(); input; input = queue.pop()) await send(input);
  }
  await Promise.all(Array.from({ length: atOnce }, work));

  const { balance, held } = await server.readMoney(wallet.management);
  const expected = (500 - report.charged / 100).toFixed(2);
  if (balance !== expected || held !== "0.00")
    report.failures.push(`balance ${balance}, held ${held}, expected ${expected} after ${report.charged} charges`);
  if (server.logged().includes("internal error")) report.failures.push("the log has an internal error");
  await assertBooksBalance();
  await fixture.close();
  return report;
}
