import assert from "node:assert/strict";
import { test } from "node:test";
import { formatMcpSetup, mcpApps } from "./format-mcp-setup.ts";

const url = "https://search.test";

test("each app gets the endpoint and the key, and no key if it signs in", () => {
  for (const app of mcpApps) {
    const withKey = formatMcpSetup(app, { url, key: "pb_live_1" });
    assert.match(withKey, /https:\/\/search\.test\/mcp/, app);
    assert.match(withKey, /Authorization.*Bearer pb_live_1/, app);
    assert.doesNotMatch(formatMcpSetup(app, { url, key: undefined }), /Authorization/, app);
  }
});

test("settings are JSON in the form that each editor reads", () => {
  const server = { url: "https://search.test/mcp", headers: { Authorization: "Bearer pb_live_1" } };
  const read = (app: "Cursor" | "VS Code"): unknown => JSON.parse(formatMcpSetup(app, { url, key: "pb_live_1" }));
  assert.deepEqual(read("Cursor"), { mcpServers: { pennyblack: server } });
  assert.deepEqual(read("VS Code"), { servers: { pennyblack: { type: "http", ...server } } });
});
