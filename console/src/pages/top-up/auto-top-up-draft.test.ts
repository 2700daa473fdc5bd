import assert from "node:assert/strict";
import { test } from "node:test";
import { parseAutoTopUpDraft } from "./auto-top-up-draft.ts";

const limits = { minimum: "5.00", maximum: "1000.00" };

test("converts a threshold, an amount and a monthly cap to the request body", () => {
  assert.deepEqual(parseAutoTopUpDraft({ threshold: "2", amount: "20", monthly: "100" }, limits), {
    body: { threshold: "2.00", amount: "20.00", monthly_cap: "100.00" },
    errors: {},
  });
});

test("rejects a cap below the amount added each time", () => {
  const { body, errors } = parseAutoTopUpDraft({ threshold: "", amount: "20", monthly: "10" }, limits);
  assert.equal(body, undefined);
  assert.deepEqual(Object.keys(errors), ["threshold", "monthly"]);
});
