import assert from "node:assert/strict";
import { test } from "node:test";
import { checkoutReturnUrls } from "./checkout-state.ts";

test("checkout returns to the wallet that was topped up", () => {
  assert.deepEqual(checkoutReturnUrls("https://search.example/", "w1"), {
    success_url: "https://search.example/console/w/w1/top-up?checkout=paid",
    cancel_url: "https://search.example/console/w/w1/top-up?checkout=left",
  });
  assert.deepEqual(checkoutReturnUrls("http://localhost:8080", "w1"), {});
});
