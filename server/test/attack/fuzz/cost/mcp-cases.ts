import { maxBodyBytes } from "../../../../src/http/input/read-body.ts";
import { createOperation } from "../fuzz-operation.ts";
import type { Input } from "../inputs.ts";
import { anyTexts } from "./adversarial-texts.ts";
import type { CostCase } from "./find-costly-cases.ts";
import { type CostInput, inJson, manyNames, requestCase } from "./request-case.ts";

export const mcp = createOperation("POST", "/mcp", { credential: "search" });

export function* mcpCases(): Generator<CostCase<CostInput>> {
  const headers: Input["headers"] = [
    ["accept", "application/json, text/event-stream"],
    ["mcp-protocol-version", "2025-11-25"],
  ];
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call" };
  const messages: Record<string, (part: unknown) => unknown> = {
    query: (part) => ({ ...call, params: { name: "web_search", arguments: { query: part } } }),
    "run id": (part) => ({
      ...call,
      params: { name: "web_search", arguments: { query: "cats", run: { id: part, max: "0.10" } } },
    }),
    argument: (part) => ({ ...call, params: { name: "web_search", arguments: { query: "cats", extra: part } } }),
    tool: (part) => ({ ...call, params: { name: part, arguments: {} } }),
    method: (part) => ({ ...call, method: part }),
    "progress token": (part) => ({ ...call, params: { name: "get_balance", _meta: { progressToken: part } } }),
    "client name": (part) => ({
      ...call,
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: part, version: "1" } },
    }),
    id: (part) => ({ ...call, id: part, method: "ping" }),
  };
  const limit = maxBodyBytes - 400;
  for (const [slot, message] of Object.entries(messages)) {
    const inMessage = (kind: string, part: (size: number) => unknown): CostCase<CostInput> =>
      requestCase(mcp, `the ${slot} of ${kind}`, limit, (size) => ({
        headers,
        body: JSON.stringify(message(part(size))),
      }));
    for (const [kind, build] of Object.entries(anyTexts)) yield inMessage(kind, (size) => build(size, inJson));
    yield inMessage("many items", (size) => manyNames(["a"], size, (name) => name.length + 3));
    yield inMessage("many fields", (size) =>
      Object.fromEntries(manyNames(["query", "n", "run"], size, (name) => name.length + 5).map((name) => [name, 1])),
    );
  }
  const batches = (size: number): string => `[${'{"jsonrpc":"2.0","id":1,"method":"ping"},'.repeat(size / 41)}1]`;
  yield requestCase(mcp, "a batch", limit, (size) => ({ headers, body: batches(size) }));
  for (const [kind, text] of Object.entries({ brackets: "[", braces: '{"a":', quotes: '"\\"' }))
    yield requestCase(mcp, `a body of ${kind}`, limit, (size) => ({ headers, body: text.repeat(size / text.length) }));
}
