import assert from "node:assert/strict";
import { once } from "node:events";
import { request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { isLoopback, serveHttp } from "./serve-http.ts";

let nowMs = 0;
const create = () => new McpServer({ name: "test", version: "0" });
const server = serveHttp(create, { host: "127.0.0.1", token: undefined, now: () => nowMs }).listen(0, "127.0.0.1");
const guarded = serveHttp(create, { host: "box.example", token: "s3cret", now: () => nowMs }).listen(0, "127.0.0.1");
await Promise.all([once(server, "listening"), once(guarded, "listening")]);

after(() => {
  for (const one of [server, guarded]) {
    one.close();
    one.closeAllConnections();
  }
});

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "0" } },
};

async function post(
  headers: Record<string, string>,
  { body = initialize, path = "/mcp", to = server }: { body?: object; path?: string; to?: Server } = {},
) {
  const { port } = to.address() as AddressInfo;
  const defaults = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const outgoing = request({ host: "127.0.0.1", port, path, method: "POST", headers: { ...defaults, ...headers } });
  outgoing.end(JSON.stringify(body));
  const [response] = await once(outgoing, "response");
  return {
    status: response.statusCode as number,
    session: response.headers["mcp-session-id"] as string,
    text: await text(response),
  };
}

test("rejects a foreign Origin or Host, as sent by a web page in the user's browser", async () => {
  for (const headers of [
    { host: "evil.example" },
    { host: "evil.example:80@127.0.0.1" },
    { host: "127.0.0.1.evil.example" },
    { origin: "https://evil.example" },
    { origin: "null" },
    { origin: "http://localhost.evil.example" },
  ]) {
    assert.equal((await post(headers)).status, 403, JSON.stringify(headers));
  }
  for (const headers of [{}, { host: "localhost:1" }, { host: "[::1]:1" }, { origin: "http://localhost:3000" }]) {
    assert.equal((await post(headers)).status, 200, JSON.stringify(headers));
  }
  assert.equal((await post({}, { path: "/" })).status, 404);
});

test("rejects requests without the configured token", async () => {
  const host = "box.example";
  for (const authorization of ["", "Bearer", "Bearer s3cre", "Bearer s3cret2", "s3cret"]) {
    assert.equal((await post({ host, authorization }, { to: guarded })).status, 401, authorization);
  }
  assert.equal((await post({ host, authorization: "Bearer s3cret" }, { to: guarded })).status, 200);
});

test("a session expires 30 minutes after its last request", async () => {
  const { session } = await post({});
  const ping = { body: { jsonrpc: "2.0", id: 2, method: "ping" } };
  for (const minutes of [29, 29, 30]) {
    nowMs += minutes * 60_000;
    assert.equal((await post({ "mcp-session-id": session }, ping)).status, 200);
  }
  nowMs += 30 * 60_000 + 1;
  const late = await post({ "mcp-session-id": session }, ping);
  assert.deepEqual([late.status, JSON.parse(late.text).error.message], [404, "Session expired. Start a new one."]);
});

test("allows 100 sessions at a time, and more after they expire", async () => {
  nowMs += 60 * 60_000;
  for (let count = 0; count < 100; count += 1) assert.equal((await post({})).status, 200);
  assert.equal((await post({})).status, 503);
  nowMs += 60 * 60_000;
  assert.equal((await post({})).status, 200);
});

test("rejects a body that is too large", async () => {
  assert.equal((await post({}, { body: { ...initialize, padding: "x".repeat(70_000) } })).status, 413);
});

test("isLoopback recognizes loopback names and addresses only", () => {
  for (const host of ["127.0.0.1", "127.1.2.3", "localhost", "::1", "[::1]"]) assert.ok(isLoopback(host), host);
  for (const host of ["0.0.0.0", "::", "192.0.2.1", "localhost.example", "127.0.0.1.example"])
    assert.ok(!isLoopback(host), host);
});
