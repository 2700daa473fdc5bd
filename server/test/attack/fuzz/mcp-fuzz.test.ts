import assert from "node:assert/strict";
import { test } from "node:test";
import { runMcpFuzz } from "./mcp-fuzz.ts";

test("1,000 generated MCP messages cause no 5xx, no hang and no unstated charge", async () => {
  const report = await runMcpFuzz({ messages: 1_000, seed: 1 });
  assert.deepEqual(report.failures, []);
  assert.equal(report.sent, 1_000);
  // The generator reaches the tools of both kinds of revision.
  assert.ok(report.charged > 10 && (report.statuses["200"] ?? 0) > 200, JSON.stringify(report));
});
