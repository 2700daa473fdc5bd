import assert from "node:assert/strict";
import { test } from "node:test";
import type { Entry, SearchDetails } from "@pennyblack/sdk";
import { describeSearch } from "./describe-search.ts";

const charge: Entry = {
  id: "e",
  kind: "search",
  amount: "-0.01",
  currency: "usd",
  request_id: "r",
  created_at: "2030-01-31T12:00:00Z",
};
const refund: Entry = { ...charge, id: "f", kind: "refund", amount: "0.01", created_at: "2030-02-01T12:00:00Z" };
const search: SearchDetails = {
  request_id: "r",
  kind: "search",
  at: "2030-01-31T12:00:00Z",
  mode: "live",
  key_id: "k",
  key_name: "Production",
  category: null,
  outcome: "ok",
  charged: "0.01",
  ms: 412,
  steps: null,
  end_user: null,
  run: null,
  transport: null,
  entries: [charge],
};

test("reports whether a search was charged", () => {
  assert.deepEqual(describeSearch(search), {
    charge: "Charged $0.01.",
    result: "Completed",
  });
  assert.equal(
    describeSearch({ ...search, entries: [refund, ...search.entries] }).charge,
    "Charged $0.01 and refunded in full.",
  );
  assert.equal(describeSearch({ ...search, mode: "test", charged: "0.00", entries: [] }).charge, "Free (test search).");
});

test("a failed search was not charged", () => {
  const failed = {
    ...search,
    outcome: "upstream_timeout",
    charged: "0.00",
    ms: 9_000,
    category: "news",
    run: "r1",
    entries: [],
  };
  assert.deepEqual(describeSearch(failed), {
    charge: "Not charged.",
    result: "Failed (upstream timeout)",
  });
  const refused = { ...failed, kind: "refused" as const, mode: "test" as const, outcome: "run_budget_spent", ms: null };
  assert.deepEqual(describeSearch(refused), { charge: "Not charged.", result: "Refused (run budget spent)" });
  const replayed = { ...refused, kind: "replayed" as const, outcome: "replayed" };
  assert.equal(describeSearch(replayed).result, "Replayed");
});
