import assert from "node:assert/strict";
import { test } from "node:test";
import { returnPages } from "./open-checkout.ts";

test("whoever paid comes back to the wallet they paid for", () => {
  assert.deepEqual(returnPages("https://search.example/", "w1"), {
    success_url: "https://search.example/console/w/w1/top-up?checkout=paid",
    cancel_url: "https://search.example/console/w/w1/top-up?checkout=left",
  });
  assert.deepEqual(returnPages("http://localhost:8080", "w1"), {});
});
