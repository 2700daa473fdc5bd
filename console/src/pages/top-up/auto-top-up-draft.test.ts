import assert from "node:assert/strict";
import { test } from "node:test";
import { readAutoDraft } from "./auto-draft.ts";

const limits = { minimum: "5.00", maximum: "1000.00" };

test("an order has a threshold, an amount and a cap", () => {
  assert.deepEqual(readAutoDraft({ threshold: "2", amount: "20", monthly: "100" }, limits), {
    body: { threshold: "2.00", amount: "20.00", monthly_cap: "100.00" },
    errors: {},
  });
});

test("a cap that would never let it add anything is refused here", () => {
  const { body, errors } = readAutoDraft({ threshold: "", amount: "20", monthly: "10" }, limits);
  assert.equal(body, undefined);
  assert.deepEqual(Object.keys(errors), ["threshold", "monthly"]);
});
