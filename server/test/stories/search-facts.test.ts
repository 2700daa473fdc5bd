import assert from "node:assert/strict";
import { after, test } from "node:test";
import { until } from "../support/assertions/until.ts";
import { createTestDatabase } from "../support/services/database.ts";
import { createTestWallet, startTestServer } from "../support/services/server.ts";
import { startHostileUpstream } from "../support/upstreams/hostile-upstream.ts";

// What the row of a search says about it afterwards: enough for an owner's report, nothing of what was asked.

const db = await createTestDatabase();
const upstream = await startHostileUpstream();
const server = await startTestServer(db, { PENNYBLACK_SEARXNG_URL: upstream.url });
const wallet = await createTestWallet(db, "1.00");

after(async () => {
  await server.close();
  await upstream.close();
  await db.drop();
});

async function rowOf(requestId: string | null) {
  const { rows } = await db.owner.query("select state, category, outcome from pb.searches where id = $1", [requestId]);
  return rows[0];
}

test("a paid search keeps its category", async () => {
  const plain = await server.search(wallet.live, { query: "cats" });
  assert.deepEqual(await rowOf(plain.headers.get("request-id")), { state: "captured", category: null, outcome: null });
  const hinted = await server.search(wallet.live, { query: "cats", category: "gov" });
  assert.deepEqual(await rowOf(hinted.headers.get("request-id")), {
    state: "captured",
    category: "gov",
    outcome: null,
  });
});

test("a failed one says why", async () => {
  for (const [behaviour, outcome] of [
    ["status_503", "upstream_error"],
    ["reset_before_headers", "upstream_unreachable"],
    ["truncated_json", "upstream_invalid_response"],
  ] as const) {
    await upstream.behave(behaviour);
    const reply = await server.search(wallet.live, { query: "cats", category: "research" });
    const row = await rowOf(reply.headers.get("request-id"));
    assert.deepEqual(row, { state: "released", category: "research", outcome });
  }
});

test("a caller who left is not a failure of the upstream", async () => {
  await upstream.behave("slow_headers");
  await assert.rejects(
    fetch(`${server.url}/v1/search`, {
      method: "POST",
      headers: { "x-api-key": wallet.live, "content-type": "application/json" },
      body: JSON.stringify({ query: "cats", category: "business" }),
      signal: AbortSignal.timeout(300),
    }),
  );
  await until("the hold is given back", async () => {
    const { rows } = await db.owner.query("select state, outcome from pb.searches where category = 'business'");
    return rows[0]?.state === "released" && rows[0]?.outcome === "caller_left";
  });
});
