import assert from "node:assert/strict";
import { randomBytes, randomUUIDv7 } from "node:crypto";
import { after, test } from "node:test";
import { Redis } from "ioredis";
import { createSecrets } from "../../src/lib/secrets.ts";
import { createTestEndUserLimit } from "../../src/limits/test-end-users.ts";
import { until } from "../support/assertions/until.ts";

const redis = new Redis(process.env["PENNYBLACK_TEST_REDIS_URL"] ?? "redis://127.0.0.1:6379");
await until("redis is ready", () => redis.status === "ready");
after(() => redis.disconnect());
const secrets = createSecrets([randomBytes(32)]);
const noon = Date.parse("2026-03-01T12:00:00Z");

test("the test keys of a wallet can name a limited number of end users per day, counted by all servers", () =>
  assertLimited(redis));

test("each server limits the end users of test keys without Redis", () => assertLimited(undefined));

async function assertLimited(store: Redis | undefined): Promise<void> {
  const [walletId, other] = [randomUUIDv7(), randomUUIDv7()];
  let nowMs = noon;
  const options = { redis: store, secrets, max: 3, now: () => nowMs };
  const first = createTestEndUserLimit(options);
  const second = store ? createTestEndUserLimit(options) : first;
  for (const user of ["a", "b", "a"]) await first(walletId, user);
  for (const user of ["b", "c"]) await second(walletId, user);
  for (const limit of [first, second])
    await assert.rejects(limit(walletId, "d"), {
      code: "rate_limited",
      retryAfterSeconds: 43_200,
      detail:
        "The test keys of this wallet have named 3 end users today (UTC), which is the limit. You were not charged. Search for one of them, or retry after the number of seconds in `Retry-After`.",
    });
  await first(walletId, "b");
  await first(other, "d");
  nowMs += 43_200_000;
  await first(walletId, "d");
}

test("Redis contains no id of an end user, and deletes the hashes", async () => {
  const walletId = randomUUIDv7();
  await createTestEndUserLimit({ redis, secrets, max: 3, now: () => noon })(walletId, "a-canary");
  const [key = assert.fail()] = await redis.keys(`pb:test-end-users:*${walletId}`);
  const members = await redis.smembers(key);
  assert.equal(members.length, 1);
  assert.ok(!members.join().includes("canary"));
  assert.ok((await redis.ttl(key)) > 0);
});
