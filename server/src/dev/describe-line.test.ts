import assert from "node:assert/strict";
import { test } from "node:test";
import { describeLine } from "./describe-line.ts";

const entry = { level: 30, time: "2026-11-16T17:00:00.000Z", msg: "request completed" };

test("formats a log line, and omits files of the docs and the console", () => {
  const search = JSON.stringify({ ...entry, route: "/v1/search", status: 200 });
  assert.equal(describeLine("server", search), "17:00:00 server: request completed route=/v1/search status=200");
  for (const route of ["/docs/", "/docs/*", "/console/*"]) {
    assert.equal(describeLine("server", JSON.stringify({ ...entry, route, status: 200 })), undefined, route);
    assert.ok(describeLine("server", JSON.stringify({ ...entry, route, status: 404 })), route);
  }
});

test("prints the stack trace of an unexpected error, and not that of a failed search", () => {
  const err = {
    type: "Error",
    message: "test: status after 0 ms",
    stack: ["at hitsOrProblem"],
    cause: { stack: ["at b"] },
  };
  const failed = describeLine("server", JSON.stringify({ ...entry, level: 40, msg: "request failed", err }));
  assert.equal(
    failed,
    '17:00:00 server warning: request failed err={"type":"Error","message":"test: status after 0 ms","cause":{}}',
  );
  const unexpected = describeLine("server", JSON.stringify({ ...entry, level: 50, msg: "internal error", err }));
  assert.match(String(unexpected), /"stack":\["at hitsOrProblem"\]/);
});

test("omits the warning about a setting that dev makes itself", () => {
  const msg = "webhooks to private addresses allowed (PENNYBLACK_WEBHOOKS_ALLOW_PRIVATE), do not use in production";
  assert.equal(describeLine("server", JSON.stringify({ ...entry, level: 40, msg })), undefined);
  assert.equal(
    describeLine("worker", JSON.stringify({ ...entry, level: 40, msg: "other" })),
    "17:00:00 worker warning: other",
  );
});
