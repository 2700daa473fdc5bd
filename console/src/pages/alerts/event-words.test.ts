import assert from "node:assert/strict";
import { test } from "node:test";
import { tellDelivery } from "./event-words.ts";

const delivery = {
  id: "d",
  event: { id: "e", type: "webhook.test", created_at: "2030-01-31T12:00:00Z" },
  status: "pending" as const,
  attempts: 0,
  response_status: null,
  error: null,
  last_attempt_at: null,
  next_attempt_at: null,
  created_at: "2030-01-31T12:00:00Z",
};

test("what came of a delivery is told in a sentence", () => {
  assert.equal(tellDelivery(delivery), "Waits to be sent");
  assert.equal(
    tellDelivery({ ...delivery, status: "delivered", attempts: 1, response_status: 204 }),
    "Answered 204, 1 attempt",
  );
  assert.equal(
    tellDelivery({ ...delivery, attempts: 3, response_status: 500, error: "status" }),
    "3 attempts, last: it answered 500",
  );
  assert.equal(
    tellDelivery({ ...delivery, status: "failed", attempts: 1, error: "timeout" }),
    "1 attempt, last: it did not answer in time",
  );
  assert.equal(
    tellDelivery({ ...delivery, status: "failed", error: "endpoint_disabled" }),
    "Not sent: the endpoint was switched off",
  );
});
