import assert from "node:assert/strict";
import { test } from "node:test";
import { describeDelivery } from "./describe-delivery.ts";

const delivery = {
  id: "d",
  endpoint_id: "w",
  event: { id: "e", type: "webhook.test", created_at: "2030-01-31T12:00:00Z" },
  status: "pending" as const,
  attempts: 0,
  response_status: null,
  error: null,
  last_attempt_at: null,
  next_attempt_at: null,
  created_at: "2030-01-31T12:00:00Z",
};

test("describes the result of a delivery", () => {
  assert.equal(describeDelivery(delivery), "Waiting to be sent");
  assert.equal(
    describeDelivery({ ...delivery, status: "delivered", attempts: 1, response_status: 204 }),
    "Returned 204, 1 attempt",
  );
  assert.equal(
    describeDelivery({ ...delivery, attempts: 3, response_status: 500, error: "status" }),
    "3 attempts, last error: status 500",
  );
  assert.equal(
    describeDelivery({ ...delivery, status: "failed", attempts: 1, error: "timeout" }),
    "1 attempt, last error: timed out",
  );
  assert.equal(
    describeDelivery({ ...delivery, status: "failed", error: "endpoint_disabled" }),
    "Not sent: the endpoint was disabled",
  );
});
