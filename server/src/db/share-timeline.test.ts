import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { Redis } from "ioredis";
import { until } from "../../test/support/assertions/until.ts";
import { runAdmin } from "../../test/support/services/admin-process.ts";
import { createTestDatabase } from "../../test/support/services/database.ts";
import { startPrivateRedis } from "../../test/support/services/private-redis.ts";
import { testEnvironment } from "../../test/support/services/server.ts";
import { failServerProcess, startServerProcess } from "../../test/support/services/server-process.ts";
import { readConfig } from "../config/config.ts";
import { createSecrets } from "../lib/secrets.ts";
import { adapters } from "../providers/providers.ts";
import { createFence, readIdentity } from "./fence.ts";
import { readSharedTimeline, shareTimeline, startTimelineSharing } from "./share-timeline.ts";

const db = await createTestDatabase();
const { url } = await startPrivateRedis();
const redis = new Redis(url);
const environment = { ...testEnvironment(db), REDIS_URL: url };
const secrets = createSecrets(readConfig(adapters, ["secrets"], environment).secrets);
const read = () => readSharedTimeline(redis, db.ledgerUrl, secrets);
const key = `pb:timeline:${db.name}`;

const { isReplica: _primary, replicas: _count, ...own } = await readIdentity(db.owner);

after(async () => {
  redis.disconnect();
  await db.drop();
});

function startSharing() {
  const fence = createFence();
  const options = { fence, db: db.ledger, redis, secrets, databaseUrl: db.ledgerUrl, intervalMs: 20 };
  const sharing = startTimelineSharing(options);
  after(() => sharing.close());
  return { fence, sharing };
}

test("a server shares its timeline, and another one learns it before its first connection", async () => {
  const first = startSharing();
  first.fence.pass({ ...own, timeline: own.timeline + 1 });
  await until("it is shared", async () => (await read())?.timeline === own.timeline + 1);
  const second = startSharing();
  assert.match(
    (await second.sharing.start()) ?? "",
    /is on timeline \d+, and timeline \d+ exists: it is an old primary/,
  );
  assert.deepEqual(second.fence.latest, { ...own, timeline: own.timeline + 1 });

  first.fence.pass({ ...own, timeline: own.timeline + 2 });
  await until("the other one learns it", () => second.fence.latest?.timeline === own.timeline + 2);
  await first.sharing.close();
  await second.sharing.close();
});

test("a value that was not signed with the secret is ignored and replaced", async () => {
  const other = createSecrets([Buffer.alloc(32, 9)]);
  for (const value of ["", "0 9 9 ", `${"0".repeat(64)} 0 9 9 `]) {
    await redis.set(key, value);
    assert.equal(await read(), undefined, value);
  }
  await shareTimeline(redis, db.ledgerUrl, other, { ...own, timeline: 999, acceptedAt: 0 });
  assert.equal(await read(), undefined);
  const { fence, sharing } = startSharing();
  assert.equal(await sharing.start(), undefined);
  assert.deepEqual(fence.latest, own);
  await until("it is replaced", async () => (await read())?.timeline === own.timeline);
  await sharing.close();
});

test("a server refuses another database until it is accepted, and the acceptance is in the audit log", async () => {
  await shareTimeline(redis, db.ledgerUrl, secrets, { systemIdentifier: "7", timeline: 1, history: [], acceptedAt: 0 });
  const refused = await failServerProcess(environment);
  assert.equal(refused.exitCode, 1);
  assert.match(refused.output, /has the system identifier \d+, and 7 is in use.*npm run admin -- database accept/s);

  const accepted = await runAdmin(
    { ...environment, PENNYBLACK_DIRECT_DATABASE_URL: db.ownerUrl },
    "database",
    "accept",
    "--reason",
    "restored",
  );
  assert.equal(accepted.exitCode, 0, accepted.stderr);
  const audit = await db.owner.query("select act, subject, reason from pb.audit_log order by number desc limit 1");
  assert.deepEqual(audit.rows, [
    {
      act: "database.accept",
      subject: `system identifier ${own.systemIdentifier}, timeline ${own.timeline}`,
      reason: "restored",
    },
  ]);
  const server = await startServerProcess(db, { REDIS_URL: url });
  server.process.kill("SIGTERM");
  assert.equal(await server.ended, 0);
});

test("servers share the tokens of timelines, and replace what they know when an operator accepts another history", async () => {
  await redis.del(key);
  const [first, second] = [startSharing(), startSharing()];
  const entry = `${own.timeline}:${randomUUID()}`;
  first.fence.pass({ ...own, history: [...own.history, entry] });
  await until("the other one learns it", () => second.fence.latest?.history.includes(entry) ?? false);
  assert.throws(() => second.fence.pass(own), /The database lacks timeline/);
  await shareTimeline(redis, db.ledgerUrl, secrets, { ...own, acceptedAt: Date.now() });
  for (const { fence } of [first, second])
    await until("it uses the accepted one", () => fence.latest?.history.length === own.history.length);
  second.fence.pass(own);
  await first.sharing.close();
  await second.sharing.close();
});
