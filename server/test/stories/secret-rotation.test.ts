import assert from "node:assert/strict";
import { randomBytes, randomUUID, randomUUIDv7 } from "node:crypto";
import { test } from "node:test";
import { createSecrets } from "../../src/lib/secrets.ts";
import { createPaymentFixture } from "../support/payments/payment-fixture.ts";
import { type AdminRun, runAdmin } from "../support/services/admin-process.ts";
import { type Reply, type TestServer, type TestWallet, testEnvironment } from "../support/services/server.ts";
import { failServerProcess } from "../support/services/server-process.ts";

// Rotation of PENNYBLACK_SECRET: a retry is free on every server at every step, regardless of the secrets it lists.

const [former, next, unlisted] = [randomBytes(32), randomBytes(32), randomBytes(32)];
const idOf = (secret: Buffer): string => createSecrets([secret]).writer.id;
const list = (...secrets: Buffer[]) => ({
  PENNYBLACK_SECRET: secrets.map((secret) => secret.toString("base64")).join(","),
});

const fixture = await createPaymentFixture(list(former, next));
const { db, upstream, startServer, createWallet, assertBooksBalance } = fixture;
const before = fixture.server;
const after = await startServer(list(next, former));
const question = { query: "cats", n: 3 };

/** The checks of a server that starts. Returns why it must not run, or undefined if it may. */
const check = (server: TestServer): Promise<string | undefined> => server.app.checkDatabase();
for (const server of [before, after]) assert.equal(await check(server), undefined);

function admin(secrets: Record<string, string>, ...args: string[]): Promise<AdminRun> {
  const environment = { ...testEnvironment(db), ...secrets, PENNYBLACK_DIRECT_DATABASE_URL: db.ownerUrl };
  return runAdmin(environment, "secret", ...args);
}

async function secretsInUse(): Promise<string[]> {
  const { rows } = await db.owner.query<{ id: string }>("select pb.secrets_in_use() as id");
  return rows.map(({ id }) => id);
}

const chargeOf = ({ headers }: Reply): string | null => headers.get("wallet-charge");
const newKey = () => ({ "idempotency-key": randomUUID() });

const wallets = await Promise.all(Array.from({ length: 20 }, () => createWallet("1.00")));
const walletOf = (number: number): TestWallet => wallets[number % wallets.length] ?? assert.fail();

/** The server that gets the request, and the other one, which gets its retry. */
const serversOf = (number: number): [TestServer, TestServer] => (number % 2 === 0 ? [after, before] : [before, after]);

async function searchTwice(number: number): Promise<void> {
  const [first, second] = serversOf(number);
  const [{ live }, headers] = [walletOf(Math.floor(number / 2)), newKey()];
  const paid = await first.search(live, question, headers);
  assert.deepEqual([paid.status, chargeOf(paid)], [200, "0.01;currency=usd"], paid.text);
  const retry = await second.search(live, question, headers);
  assert.deepEqual([retry.status, chargeOf(retry), retry.text], [200, "0.00;currency=usd", paid.text]);
  if (number % 100 > 0) return;
  const reused = await second.search(live, { query: "dogs" }, headers);
  assert.equal(reused.body.code, "idempotency_key_reused");
}

async function topUpTwice(number: number): Promise<void> {
  const [first, second] = serversOf(number);
  const [{ management }, headers] = [walletOf(Math.floor(number / 2)), newKey()];
  const send = (server: TestServer, amount: string): Promise<Reply> =>
    server.manage(management, "POST", "/v1/wallet/top-ups", { amount }, headers);
  const opened = await send(first, "20.00");
  const retry = await send(second, "20.00");
  assert.deepEqual([opened.status, retry.status, retry.body.id], [201, 201, opened.body.id], retry.text);
  assert.equal(retry.headers.get("idempotent-replayed"), "true");
  assert.equal((await send(second, "30.00")).body.code, "idempotency_key_reused");
}

/** Runs the jobs in order, twenty at a time. */
async function runAll(jobs: (() => Promise<unknown>)[]): Promise<void> {
  const work = [...jobs];
  const run = async (): Promise<void> => {
    for (let job = work.shift(); job; job = work.shift()) await job();
  };
  await Promise.all(Array.from({ length: 20 }, run));
}

test("stored values are encrypted again only if every server and worker lists the first secret", async () => {
  const wallet = await createWallet("0.05");
  assert.equal((await before.search(wallet.live, question, newKey())).status, 200);
  const behind = await startServer(list(former));
  assert.equal(await check(behind), undefined);
  const worker = randomUUIDv7();
  const reportWorker = (hasStopped: boolean) =>
    db.owner.query("select pb.report_worker($1, $2, '{}', '{}', '{}', $3)", [worker, [idOf(former)], hasStopped]);
  await reportWorker(false);
  const refuse = async (...args: string[]): Promise<string> => {
    const { exitCode, stderr } = await admin(list(next, former), ...args);
    assert.equal(exitCode, 1);
    assert.match(stderr, new RegExp(`^Nothing was changed.* do not list the secret ${idOf(next)}`));
    return stderr;
  };
  const inRow = (kind: string): RegExp => new RegExp(`^ *${kind} [\\da-f-]+ +${idOf(former)}$`, "gm");
  const first = await refuse("reseal");
  assert.deepEqual([first.match(inRow("server"))?.length, first.match(inRow("worker"))?.length], [1, 1], first);
  await reportWorker(true);
  assert.match(await refuse("reseal"), inRow("server"));
  assert.match(await refuse("replace-data-keys", "--yes"), inRow("server"));
  assert.deepEqual(await secretsInUse(), [idOf(former)]);

  await behind.close();
  const { stdout } = await admin(list(next, former), "status");
  assert.match(stdout, new RegExp(`The first secret in PENNYBLACK_SECRET is ${idOf(next)}\\.`));
  assert.equal(stdout.match(/^ *server [\da-f-]+ /gm)?.length, 2, stdout);
  assert.match(stdout, new RegExp(`^ *${idOf(former)} +1$`, "m"));
});

test("of 1,000 searches and 100 top-ups that are retried on a server with another first secret, none is charged twice", async () => {
  const calls = upstream.requests.length;
  const jobs: (() => Promise<unknown>)[] = [];
  for (let number = 0; number < 1_000; number += 1) {
    jobs.push(() => searchTwice(number));
    if (number % 10 === 0) jobs.push(() => topUpTwice(number / 10));
    // The data keys are encrypted again while they are in use.
    if (number === 500) jobs.push(async () => assertDone(await admin(list(next, former), "reseal")));
  }
  await runAll(jobs);
  for (const wallet of wallets)
    assert.deepEqual(await before.readMoney(wallet.management), { balance: "0.50", held: "0.00" });
  assert.equal(upstream.requests.length - calls, 1_000);
  const { rows } = await db.owner.query("select from pb.top_ups");
  assert.equal(rows.length, 100);
  assert.deepEqual(await secretsInUse(), [idOf(next)]);
});

function assertDone({ exitCode, stderr }: AdminRun): void {
  assert.equal(exitCode, 0, stderr);
}

test("two servers that first use a wallet at the same time get one data key", async () => {
  const wallet = await createWallet("0.50");
  const headers = newKey();
  const replies = await Promise.all(
    Array.from({ length: 40 }, (_, number) => serversOf(number)[0].search(wallet.live, question, headers)),
  );
  assert.equal(replies.filter((reply) => chargeOf(reply) === "0.01;currency=usd").length, 1);
  for (const reply of replies) assert.ok([200, 409].includes(reply.status), reply.text);
  assert.deepEqual(await before.readMoney(wallet.management), { balance: "0.49", held: "0.00" });
});

test("a server neither starts nor charges without the secret under which a data key is encrypted", async (t) => {
  const wallet = await createWallet("0.05");
  assert.equal((await before.search(wallet.live, question, newKey())).status, 200);
  const other = await startServer(list(unlisted), t);
  assert.match((await check(other)) ?? "", /^PENNYBLACK_SECRET does not list the secret [\da-f]{16}/);
  const settings = { ...testEnvironment(db), ...list(unlisted), PORT: "0", PENNYBLACK_OPS_PORT: "0" };
  const { exitCode, output } = await failServerProcess(settings);
  assert.deepEqual([exitCode, /does not list the secret/.test(output)], [1, true], output);

  const calls = upstream.requests.length;
  const refused = await other.search(wallet.live, question, newKey());
  assert.deepEqual([refused.status, refused.body.code], [503, "ledger_unavailable"]);
  assert.equal((await other.search(wallet.live, question, { "search-for": "ada" })).status, 503);
  const topUp = await other.manage(wallet.management, "POST", "/v1/wallet/top-ups", { amount: "20.00" }, newKey());
  assert.equal(topUp.status, 503);
  assert.equal(upstream.requests.length, calls);
  assert.match(await other.readMetrics(), /^pennyblack_data_keys_not_opened_total(\{.*\})? 3$/m);
  assert.deepEqual(await other.readMoney(wallet.management), { balance: "0.04", held: "0.00" });
  assert.equal((await other.search(wallet.live, question)).status, 200, "it needs no data key");
});

test("data keys are replaced after a leak, which deletes all claims", async () => {
  const [wallet, headers] = [await createWallet("0.05"), newKey()];
  const charge = async (): Promise<string | null> => chargeOf(await before.search(wallet.live, question, headers));
  assert.deepEqual([await charge(), await charge()], ["0.01;currency=usd", "0.00;currency=usd"]);
  const unconfirmed = await admin(list(next, former), "replace-data-keys");
  assert.match(unconfirmed.stderr, /retries can be charged again.*--yes/);
  assert.equal(await charge(), "0.00;currency=usd");
  assertDone(await admin(list(next, former), "replace-data-keys", "--yes"));
  const { rows } = await db.owner.query("select from pb.idempotency");
  assert.equal(rows.length, 0);
  assert.equal(await charge(), "0.01;currency=usd");
});

test("the books balance after all of this", assertBooksBalance);
