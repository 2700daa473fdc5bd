import assert from "node:assert/strict";
import { test } from "node:test";
import { tellSearch } from "./tell-search.ts";

const search = {
  request_id: "r",
  at: "2030-01-31T12:00:00Z",
  mode: "live" as const,
  key_id: "k",
  key_name: "Production",
  category: null,
  outcome: "ok",
  charged: "0.01",
  ms: 412,
  run: null,
  entries: [{ id: "e", kind: "search" as const, amount: "-0.01", request_id: "r", created_at: "2030-01-31T12:00:00Z" }],
};
const refund = {
  id: "f",
  kind: "refund" as const,
  amount: "0.01",
  request_id: "r",
  created_at: "2030-02-01T12:00:00Z",
};

test("whether a search was charged is the first word", () => {
  assert.deepEqual(tellSearch(search), {
    verdict: "Charged $0.01.",
    why: "It was answered after 412 ms. By the key Production.",
  });
  assert.equal(
    tellSearch({ ...search, entries: [refund, ...search.entries] }).verdict,
    "Charged $0.01, and refunded in full.",
  );
  assert.equal(tellSearch({ ...search, mode: "test", charged: "0.00", entries: [] }).verdict, "Free: a test search.");
});

test("a failure says that no money moved", () => {
  const failed = {
    ...search,
    outcome: "upstream_timeout",
    charged: "0.00",
    ms: 9_000,
    category: "news",
    run: "r1",
    entries: [],
  };
  assert.deepEqual(tellSearch(failed), {
    verdict: "Not charged.",
    why: "It failed: upstream timeout after 9.00 s. By the key Production, category news, run r1.",
  });
});
