import assert from "node:assert/strict";
import type { Readable } from "node:stream";
import { test } from "node:test";
import type { FastifyRequest } from "fastify";
import { profileRoutes } from "./profile-routes.ts";

// In a process without a server, because a snapshot of a large heap takes seconds. server/test/stories/operators.test.ts
// takes CPU profiles of a server.

test("a heap snapshot is taken if it is enabled", async () => {
  const route = profileRoutes({ hasHeapSnapshots: true }).find(({ path }) => path === "profile/heap");
  const snapshot = (await route?.handle({} as FastifyRequest, "alice")) as Readable;
  for await (const chunk of snapshot) {
    assert.match(String(chunk), /^\{"snapshot":\{"meta":/);
    break;
  }
});
