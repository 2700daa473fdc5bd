import assert from "node:assert/strict";
import { test } from "node:test";
import { choosePer, emptyDraft, findErrors, toChanges, toDraft, toNewBudget } from "./budget-draft.ts";

test("converts a typed budget to the request body", () => {
  const draft = { ...emptyDraft, name: " Research ", amount: "$1,000", period: "week" as const, alerts: "95%, 50" };
  assert.deepEqual(findErrors(draft), {});
  assert.deepEqual(toNewBudget(draft, "live"), {
    mode: "live",
    name: "Research",
    amount: "1000.00",
    period: "week",
    per: "wallet",
    alerts: [50, 95],
  });
});

test("a budget per end user resets and has no warnings", () => {
  const draft = choosePer({ ...emptyDraft, name: "Chat", amount: "0.50", period: "total" }, "end_user");
  assert.equal(draft.period, "month");
  assert.deepEqual(findErrors({ ...draft, alerts: "none" }), {});
  assert.deepEqual(toNewBudget(draft, "test")["alerts"], []);
});

test("reports errors by field", () => {
  assert.deepEqual(Object.keys(findErrors({ ...emptyDraft, alerts: "100" })), ["name", "amount", "alerts"]);
  const named = { ...emptyDraft, name: "Research", amount: "5" };
  for (const alerts of ["0", "80, 80", "80, 080", "80.5", "1,2,3,4,5,6", "all"]) {
    assert.ok(findErrors({ ...named, alerts }).alerts, alerts);
  }
  assert.match(findErrors({ ...named, amount: "0" }).amount ?? "", /at least/);
});

test("saving an unedited budget changes nothing", () => {
  const budget = {
    id: "b",
    mode: "live" as const,
    name: "Research",
    amount: "50.00",
    period: "month" as const,
    per: "wallet" as const,
    increase: null,
    alerts: [80, 95],
    spent: "12.00",
    resets_at: "2030-02-01T00:00:00.000Z",
    external_id: null,
    archived_at: null,
    created_at: "2030-01-01T00:00:00.000Z",
    created_by: null,
  };
  assert.deepEqual(toChanges(toDraft(budget)), { name: "Research", amount: "50.00", alerts: [80, 95] });
});
