import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase } from "../support/services/database.ts";
import { createTestWallet, startTestServer } from "../support/services/server.ts";
import { type BehaviourName, startHostileUpstream } from "../support/upstreams/hostile-upstream.ts";

// "Result hygiene" of the contract, from the upstream's bytes to the caller's. The rules one by one are tested beside
// clean-results.ts; here it is that they are applied.

const db = await createTestDatabase();
const upstream = await startHostileUpstream();
const server = await startTestServer(db, { PENNYBLACK_SEARXNG_URL: upstream.url });
const wallet = await createTestWallet(db, "1.00");

after(async () => {
  await server.close();
  await upstream.close();
  await db.drop();
});

async function resultsOf(behaviour: BehaviourName, n = 20): Promise<Record<string, string>[]> {
  await upstream.behave(behaviour);
  const { status, body } = await server.search(wallet.live, { query: "cats", n });
  assert.equal(status, 200);
  assert.equal(body.n, body.results.length);
  return body.results;
}

test("only http and https addresses without credentials are shown", async () => {
  assert.deepEqual(
    (await resultsOf("poisonous_urls")).map((result) => result["url"]),
    ["https://example.org/page-1"],
  );
});

test("what is no result is left out, and what is left are four strings with the host as source", async () => {
  assert.deepEqual(await resultsOf("unusable_items"), [
    {
      title: "About https://example.org/page-1",
      url: "https://example.org/page-1",
      snippet: "What https://example.org/page-1 says.",
      source: "example.org",
    },
  ]);
});

test("text carries no markup, no hidden and no turning characters", async () => {
  const [result] = await resultsOf("poisonous_text");
  for (const field of ["title", "snippet"]) {
    assert.doesNotMatch(
      result?.[field] ?? "<",
      /<(script|img|b)\b|[\p{Cc}\u200B\u202A-\u202E\u{E0000}-\u{E007F}\uD800]/u,
    );
  }
  assert.match(result?.["title"] ?? "", /invisible/);
});

test("duplicates are shown once, and a later page that fails costs only its own results", async () => {
  assert.equal((await resultsOf("same_page_always")).length, 10);
  assert.equal((await resultsOf("later_page_fails")).length, 10);
});
