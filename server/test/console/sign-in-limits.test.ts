import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { Redis } from "ioredis";
import { createSignInLimits, maxEmailsFromNetwork } from "../../src/console/sign-in-limits.ts";
import { createSecrets } from "../../src/lib/secrets.ts";
import { until } from "../support/assertions/until.ts";

test("links are counted per mailbox, and Redis contains no address", async () => {
  const redis = new Redis(process.env["PENNYBLACK_TEST_REDIS_URL"] ?? "redis://127.0.0.1:6379");
  try {
    await until("redis is ready", () => redis.status === "ready");
    const limits = createSignInLimits(redis, createSecrets([randomBytes(32)]));
    const user = `ada-${randomBytes(6).toString("hex")}`;
    for (let count = 0; count < maxEmailsFromNetwork; count += 1)
      await limits.limitLinks("192.0.2.1", `${user}@example.org`);
    await assert.rejects(limits.limitLinks("192.0.2.1", `${user}@example.org`), { code: "rate_limited" });
    await limits.limitLinks("192.0.2.1", `${user}-2@example.org`);
    assert.deepEqual(await redis.keys(`*${user}*`), []);
  } finally {
    redis.disconnect();
  }
});
