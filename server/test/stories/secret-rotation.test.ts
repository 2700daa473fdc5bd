import assert from "node:assert/strict";
import { randomBytes, randomUUID, randomUUIDv7 } from "node:crypto";
import { afterEach, test } from "node:test";
import { createSecrets } from "../../src/lib/secrets.ts";
import { makeClaim } from "../../src/search/idempotency.ts";
import { holdBatch } from "../../src/wallet/statements.ts";
import { beginTopUp } from "../../src/wallet/top-ups.ts";
import { createFixture } from "../fixture.ts";
import { until } from "../support/assertions/until.ts";
import { runAdmin } from "../support/services/admin-process.ts";
import type { Reply, TestServer, TestWallet } from "../support/services/server.ts";
import { testEnvironment } from "../support/services/server.ts";
import { failServerProcess } from "../support/services/server-process.ts";

// Rotation of PENNYBLACK_SECRET: a retry is free on every server at every step, whichever version its claim was written under.

const versions = [1, 2, 3].map((version) => ({ version, bytes: randomBytes(32) }));

/** PENNYBLACK_SECRET with these versions. */
function listing(...numbers: number[]): Record<string, string> {
  const listed = numbers.map((version) => `${version}:${versions[version - 1]?.bytes.toString("base64")}`);
  return { PENNYBLACK_SECRET: listed.join(",") };
}

const fixture = await createFixture(listing(1, 2));
const { db, upstream, startServer, createWallet, assertBooksBalance } = fixture;
const first = fixture.server;
const second = await startServer();

/** Sets the writing version as if no server were running. The servers adopt it with `adopt`. */
async function write(version: number): Promise<void> {
  await db.owner.query(
    `update pb.secret_state set writing_version = $1, previous_versions = '{}', check_value = null`,
    [version],
  );
}

const adopt = (server: TestServer): Promise<string | undefined> => server.app.checkDatabase();

/** The first server writes under version 1, the second one under version 2. */
async function splitWriters(): Promise<void> {
  await write(1);
  assert.equal(await adopt(first), undefined);
  await write(2);
  assert.equal(await adopt(second), undefined);
}

afterEach(async () => {
  await upstream.behave("ok");
  upstream.requests.length = 0;
});

const question = { query: "cats", n: 3 };

function assertReplayOf(paid: Reply, retry: Reply): void {
  assert.deepEqual([paid.status, paid.headers.get("wallet-charge")], [200, "0.01;currency=usd"], paid.text);
  assert.deepEqual([retry.status, retry.headers.get("wallet-charge")], [200, "0.00;currency=usd"], retry.text);
  assert.equal(retry.text, paid.text);
}

async function versionsOfClaims({ walletId }: TestWallet): Promise<number[]> {
  const { rows } = await db.owner.query<{ version: number }>(
    "select secret_version as version from pb.idempotency where wallet_id = $1 order by claimed_at",
    [walletId],
  );
  return rows.map(({ version }) => version);
}

test("a retry is free on a server that writes under another version, in both directions", async () => {
  await splitWriters();
  const wallet = await createWallet("0.05");
  for (const [server, other] of [
    [first, second],
    [second, first],
  ] as const) {
    const headers = { "idempotency-key": randomUUID() };
    const paid = await server.search(wallet.live, question, headers);
    for (const again of [other, server]) assertReplayOf(paid, await again.search(wallet.live, question, headers));
    const reused = await other.search(wallet.live, { query: "dogs" }, headers);
    assert.deepEqual([reused.status, reused.body.code], [422, "idempotency_key_reused"]);
  }
  assert.deepEqual(await versionsOfClaims(wallet), [1, 2]);
  assert.deepEqual(await first.readMoney(wallet.management), { balance: "0.03", held: "0.00" });
});

test("a retry is free with three versions, and on a server that no longer lists the old one", async (t) => {
  await write(2);
  const newest = await startServer(listing(1, 2, 3), t);
  const without = await startServer(listing(2, 3), t);
  assert.deepEqual([await adopt(second), await adopt(newest)], [undefined, undefined]);
  const wallet = await createWallet("0.05");
  const headers = { "idempotency-key": randomUUID() };
  const paid = await second.search(wallet.live, question, headers);
  await write(3);
  assert.deepEqual([await adopt(newest), await adopt(without)], [undefined, undefined]);
  for (const server of [newest, without]) assertReplayOf(paid, await server.search(wallet.live, question, headers));
  assert.deepEqual(await versionsOfClaims(wallet), [2]);
});

test("a search in flight under one version returns 409 under the other, and is taken over after 15 s", async () => {
  await splitWriters();
  for (const [server, other] of [
    [first, second],
    [second, first],
  ] as const) {
    const wallet = await createWallet("0.05");
    const headers = { "idempotency-key": randomUUID() };
    await upstream.behave("ok_when_released");
    upstream.requests.length = 0;
    const stalled = server.search(wallet.live, question, headers);
    await until("the upstream is called", () => upstream.requests.length === 1);
    await upstream.behave("ok");
    assert.equal((await other.search(wallet.live, question, headers)).status, 409);
    assert.equal((await other.search(wallet.live, { query: "dogs" }, headers)).status, 422);
    const age = "update pb.idempotency set claimed_at = claimed_at - interval '15 seconds' where wallet_id = $1";
    await db.owner.query(age, [wallet.walletId]);
    const taken = await other.search(wallet.live, question, headers);
    upstream.release();
    assert.equal((await stalled).status, 503);
    for (const again of [other, server]) assertReplayOf(taken, await again.search(wallet.live, question, headers));
    assert.deepEqual(await first.readMoney(wallet.management), { balance: "0.04", held: "0.00" });
  }
});

test("of forty concurrent requests to servers with different writers, one is charged", async () => {
  await splitWriters();
  const wallet = await createWallet("0.50");
  const headers = { "idempotency-key": randomUUID() };
  const replies = await Promise.all(
    Array.from({ length: 40 }, (_, index) => (index % 2 ? first : second).search(wallet.live, question, headers)),
  );
  const paid = replies.filter((reply) => reply.headers.get("wallet-charge") === "0.01;currency=usd");
  assert.equal(paid.length, 1);
  for (const reply of replies) assert.ok(reply.status === 409 || reply.text === paid[0]?.text, reply.text);
  assert.deepEqual(await first.readMoney(wallet.management), { balance: "0.49", held: "0.00" });
});

test("one batch with claims of two versions holds a key once", async () => {
  // The writing version changes between two requests of one server.
  const { walletId, liveKeyId: keyId } = await createWallet("0.50");
  const claims = [1, 2, 2, 1].map((writer) => {
    const secrets = createSecrets(versions.slice(0, 2));
    secrets.use(writer);
    return makeClaim(secrets, { walletId, mode: "live" }, "one key", { query: "cats", n: 3 });
  });
  const items = claims.map((idempotency) => ({ searchId: randomUUIDv7(), walletId, keyId, idempotency }));
  const outcomes = await holdBatch(db.ledger, items);
  const inProgress = "idempotency_in_progress";
  assert.deepEqual(
    outcomes.map(({ outcome }) => outcome),
    ["held", inProgress, inProgress, inProgress],
  );
});

test("a retry of a top-up is the same top-up under another version", async () => {
  const { walletId } = await createWallet();
  const claim = () => ({ keyHmac: randomBytes(32), fingerprint: randomBytes(32) });
  const [one, two, three] = [claim(), claim(), claim()];
  const amount = 10_000_000n;
  const opened = await beginTopUp(db.tenant, walletId, { amount, ...one, others: [two] });
  const retried = await beginTopUp(db.tenant, walletId, { amount, ...two, others: [three, one] });
  assert.deepEqual([retried.id, retried.isNew, retried.isSame], [opened.id, false, true]);
  const reused = await beginTopUp(db.tenant, walletId, {
    amount,
    ...two,
    others: [{ ...one, fingerprint: randomBytes(32) }],
  });
  assert.deepEqual([reused.id, reused.isSame], [opened.id, false]);
  const [left, right] = await Promise.all([
    beginTopUp(db.tenant, walletId, { amount, ...three, others: [] }),
    beginTopUp(db.tenant, walletId, { amount, ...claim(), others: [] }),
  ]);
  assert.notEqual(left.id, right.id);
});

async function admin(list: Record<string, string>, ...args: string[]) {
  const environment = { ...testEnvironment(db), ...list, PENNYBLACK_DIRECT_DATABASE_URL: db.ownerUrl };
  return runAdmin(environment, "secret", ...args);
}

async function writingVersion(): Promise<number | undefined> {
  const { rows } = await db.owner.query<{ version: number }>("select writing_version as version from pb.secret_state");
  return rows[0]?.version;
}

test("a version becomes the writing one only when every running server lists the same secret under it", async (t) => {
  await write(1);
  assert.deepEqual([await adopt(first), await adopt(second)], [undefined, undefined]);
  const attempt = async (): Promise<string> => (await admin(listing(1, 2), "use", "--version", "2")).stderr;

  const behind = await startServer(listing(1), t);
  assert.equal(await adopt(behind), undefined);
  assert.match(await attempt(), /would be charged again[\s\S]*does not list this version/);
  await behind.close();
  const mistaken = await startServer(
    { PENNYBLACK_SECRET: `${listing(1)["PENNYBLACK_SECRET"]},2:${randomBytes(32).toString("base64")}` },
    t,
  );
  assert.equal(await adopt(mistaken), undefined);
  assert.match(await attempt(), /has a different secret under this version/);
  await mistaken.close();
  assert.match((await admin(listing(1), "use", "--version", "2")).stderr, /does not list version 2/);
  assert.equal(await writingVersion(), 1);

  assert.equal(await attempt(), "");
  assert.equal(await writingVersion(), 2);
  const { stdout } = await admin(listing(1, 2), "status");
  assert.match(stdout, /Writing version: 2, since .* by \S+\./);
  assert.equal(stdout.match(/ 1, 2 /g)?.length, 2, stdout);
});

test("a server neither starts nor stays ready without the versions that the database needs", async (t) => {
  await write(1);
  for (const server of [first, second]) await adopt(server);
  assert.equal((await admin(listing(1, 2), "use", "--version", "2")).stderr, "");
  const startUp = async (list: Record<string, string>): Promise<string | undefined> =>
    adopt(await startServer(list, t));

  assert.match((await startUp(listing(1))) ?? "", /does not list version 2/);
  assert.match((await startUp(listing(2))) ?? "", /does not list version 1/);
  const other = { PENNYBLACK_SECRET: `${listing(1)["PENNYBLACK_SECRET"]},2:${randomBytes(32).toString("base64")}` };
  assert.match((await startUp(other)) ?? "", /different secret as version 2/);
  const { exitCode, output } = await failServerProcess({
    ...testEnvironment(db),
    ...listing(1),
    PORT: "0",
    PENNYBLACK_OPS_PORT: "0",
  });
  assert.deepEqual([exitCode, /does not list version 2/.test(output)], [1, true]);
  await db.owner.query("update pb.secret_state set changed_at = changed_at - interval '25 hours'");
  assert.equal(await startUp(listing(2)), undefined, "after 25 hours no claim needs version 1");

  const running = await startServer(listing(1, 2), t);
  assert.equal(await adopt(running), undefined);
  await write(3);
  assert.match((await adopt(running)) ?? "", /does not list version 3/);
  assert.equal((await fetch(`${running.opsUrl}/readyz`)).status, 503);
});

test("after two rotations in a day, a server needs all three versions", async (t) => {
  await write(1);
  await db.owner.query("update pb.secret_reports set has_stopped = true");
  const use = (version: number) =>
    db.owner.query("select pb.use_secret('test', 'a test', $1, $2, false)", [version, check]);
  const check = randomBytes(32);
  const required = async (): Promise<number[]> => {
    const { rows } = await db.owner.query<{ required: number[] }>(
      "select required from pb.report_secrets($1, '{}', '{}', true)",
      [randomUUIDv7()],
    );
    return rows[0]?.required ?? [];
  };
  t.after(() => write(1));
  const steps: number[][] = [];
  for (const version of [2, 3, 3, 2]) {
    await use(version);
    steps.push(await required());
  }
  assert.deepEqual(steps, [
    [2, 1],
    [3, 1, 2],
    [3, 1, 2],
    [2, 1, 3],
  ]);
  await db.owner.query("update pb.secret_state set changed_at = changed_at - interval '25 hours'");
  assert.deepEqual(await required(), [2]);
  await use(1);
  assert.deepEqual(await required(), [1, 2]);
});

test("a lost secret can be replaced", async () => {
  await write(1);
  await db.owner.query("update pb.secret_reports set has_stopped = true");
  assert.equal((await admin(listing(2), "use", "--version", "2", "--discard-previous")).stderr, "");
  const { rows } = await db.owner.query("select writing_version, previous_versions from pb.secret_state");
  assert.deepEqual(rows, [{ writing_version: 2, previous_versions: [] }]);
});

test("the books balance after all of this", assertBooksBalance);
