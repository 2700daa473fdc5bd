#!/usr/bin/env node
import { parseArgs } from "node:util";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { createSearchServer } from "./create-search-server.ts";
import { isLoopback, serveHttp } from "./serve-http.ts";

// Serves one conversation over stdio, or many over HTTP. stdout is reserved for the protocol.

const env = process.env;
const budget = env["PENNYBLACK_MCP_BUDGET"] ?? "0.50";
const { PENNYBLACK_API_KEY: apiKey, PENNYBLACK_URL: baseUrl, PENNYBLACK_MCP_TOKEN: token } = env;
const { values } = parseArgs({
  options: {
    http: { type: "boolean", default: false },
    host: { type: "string", default: "127.0.0.1" },
    port: { type: "string", default: "8787" },
  },
});

if (!apiKey || !baseUrl)
  fail("Set PENNYBLACK_API_KEY to a search key and PENNYBLACK_URL to the base URL of your Pennyblack server.");
if (!/^\d{1,6}(?:\.\d{1,6})?$/.test(budget)) fail("PENNYBLACK_MCP_BUDGET must be an amount in USD, such as 0.50.");

const settings = { apiKey, baseUrl, budget };
if (!values.http) {
  await createSearchServer(settings).connect(new StdioServerTransport());
} else {
  // Anyone who can reach this port can spend the key's money.
  if (!isLoopback(values.host) && !token) fail("Set PENNYBLACK_MCP_TOKEN to listen on a non-loopback address.");
  const server = serveHttp(() => createSearchServer(settings), { host: values.host, token, now: Date.now });
  server.listen(Number(values.port), values.host, () => {
    const address = server.address();
    const port = typeof address === "object" ? address?.port : undefined;
    console.error(`Listening on http://${values.host}:${port}/mcp (budget per conversation: ${budget} USD)`);
  });
}

function fail(message: string): never {
  console.error(`pennyblack-mcp: ${message}`);
  process.exit(2);
}
