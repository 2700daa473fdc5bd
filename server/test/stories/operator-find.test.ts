import assert from "node:assert/strict";
import { randomUUID, randomUUIDv7 } from "node:crypto";
import { test } from "node:test";
import { deleteAccount, signUp } from "../../src/accounts/accounts.ts";
import { firstIdOf } from "../../src/lib/first-id-of.ts";
import { createFixture } from "../fixture.ts";
import { prepareRefusal } from "../support/assertions/assert-recorded.ts";
import { pluck } from "../support/assertions/pluck.ts";
import { until } from "../support/assertions/until.ts";
import { testAct } from "../support/data/test-act.ts";
import { operators, type Reply, testPepper } from "../support/services/server.ts";

// The look-up for support: the outcome of a request, its owner, and its charge.

const { db, upstream, server, createWallet } = await createFixture(({ operatorUrl }) => ({
  PENNYBLACK_OPERATOR_DATABASE_URL: operatorUrl,
  PENNYBLACK_OPERATORS: operators,
}));

function find(parameters: Record<string, string>): Promise<Reply> {
  return server.operate(`find?${new URLSearchParams(parameters).toString()}`);
}

function requestIdOf({ headers }: Reply): string {
  return headers.get("request-id") ?? "";
}

async function readLooks(walletId: string): Promise<unknown[]> {
  const { rows } = await db.owner.query(
    "select operator, act, subject, visibility from pb.changes where wallet_id = $1 and act = 'account.view'",
    [walletId],
  );
  return rows;
}

test("a charged search is found with its state, outcome, wallet, key, upstreams and the parts of its time", async () => {
  const wallet = await createWallet("0.05");
  const id = requestIdOf(await server.search(wallet.live, { query: "cats" }));
  const { request, unknown, wallets, searches } = (await find({ text: id })).body;
  assert.deepEqual(
    [request.request_id, request.kind, request.state, request.outcome, request.charged, request.upstreams],
    [id, "search", "captured", "ok", "0.01", "searxng"],
  );
  assert.deepEqual([request.wallet_id, request.key_id], [wallet.walletId, wallet.liveKeyId]);
  assert.deepEqual(Object.keys(request.steps).toSorted(), ["auth", "hold", "ledger", "rank", "upstream"]);
  assert.deepEqual(pluck(request.entries, "kind", "amount"), [["search", "-0.01"]]);
  assert.deepEqual([unknown, searches, wallets.length, wallets[0].id], [null, [], 1, wallet.walletId]);
  assert.deepEqual(pluck(wallets[0].keys, "id", "state"), [[wallet.liveKeyId, "active"]]);
  assert.equal((await find({ text: id.toUpperCase() })).body.request.request_id, id);
});

test("failed searches, refusals and replays are found, each with its outcome", async () => {
  const wallet = await createWallet("0.02");
  await upstream.behave("status_500");
  const failed = requestIdOf(await server.search(wallet.live, { query: "cats" }));
  await upstream.behave("ok");
  const headers = { "idempotency-key": "twice" };
  const paid = requestIdOf(await server.search(wallet.live, { query: "cats" }, headers));
  const replayed = requestIdOf(await server.search(wallet.live, { query: "cats" }, headers));
  await server.search(wallet.live, { query: "cats" });
  const refused = requestIdOf(await server.search(wallet.live, { query: "cats" }));
  const facts = async (text: string) => {
    await until(`${text} is stored`, async () => (await find({ text })).body.request !== null);
    const { request } = (await find({ text })).body;
    return [request.kind, request.state, request.outcome, request.charged, request.upstreams];
  };
  assert.deepEqual(await facts(failed), ["search", "released", "upstream_error", "0.00", "searxng:status_500"]);
  assert.deepEqual(await facts(paid), ["search", "captured", "ok", "0.01", "searxng"]);
  assert.deepEqual(await facts(replayed), ["replayed", "replayed", "replayed", "0.00", null]);
  assert.deepEqual(await facts(refused), ["refused", "refused", "insufficient_balance", "0.00", null]);
  const all = (await find({ text: wallet.walletId, from: "2020-01-01" })).body;
  assert.deepEqual(
    new Set(all.searches.map(({ outcome }: { outcome: string }) => outcome)),
    new Set(["upstream_error", "ok", "replayed", "insufficient_balance"]),
  );
  const failures = (await find({ text: wallet.walletId, outcome: "failed" })).body;
  assert.deepEqual(pluck(failures.searches, "request_id"), [refused, failed]);
});

test("an unknown id gets a separate answer, with the possible reasons", async () => {
  const explain = async (text: string): Promise<string> => {
    const { request, unknown, wallets } = (await find({ text })).body;
    assert.deepEqual([request, wallets], [null, []]);
    assert.doesNotMatch(unknown, /final/);
    return unknown;
  };
  assert.match(await explain(randomUUID()), /No server has made it/);
  assert.match(
    await explain(firstIdOf(new Date(Date.now() + 3_600_000)).replace("-0000-", "-7000-")),
    /No server has made it/,
  );
  assert.match(await explain(randomUUIDv7()), /typing error, be from another installation, or have been refused/);
  const days = (count: number): string =>
    firstIdOf(new Date(Date.now() - count * 86_400_000)).replace("-0000-", "-7000-");
  assert.match(await explain(days(400)), /are archived/);
  assert.equal((await find({ text: "no-such-name" })).body.unknown, null);
});

test("a wallet is found by its id, account, key, a member's address and name", async () => {
  const request = { accountName: "Quay Research", email: "ada@quay.test", personName: "Ada", act: testAct };
  const { accountId, walletId, liveKey } = await signUp(db.owner, request, { pepper: testPepper });
  const { rows } = await db.owner.query<{ id: string; start: string }>(
    "select id, start from pb.keys where wallet_id = $1 and mode = 'live'",
    [walletId],
  );
  const [key] = rows;
  for (const text of [
    walletId,
    accountId,
    key?.id,
    key?.start,
    key?.start.slice(0, -1),
    liveKey,
    "ADA@quay.test",
    "quay res",
  ]) {
    const { wallets } = (await find({ text: text ?? "" })).body;
    const [found] = wallets.filter(({ id }: { id: string }) => id === walletId);
    assert.deepEqual([found?.account.id, found?.account.owners], [accountId, ["ada@quay.test"]], text);
  }
  assert.deepEqual(pluck((await find({ text: liveKey })).body.wallets[0].keys, "start"), [key?.start]);
  assert.deepEqual((await find({ text: "da@quay.test" })).body.wallets, []);
  // Nothing of its searches was shown.
  assert.deepEqual(await readLooks(walletId), []);
});

test("the searches of a key are listed by time, and there is a limit", async () => {
  const { walletId, live, liveKeyId } = await createWallet("1.00");
  const ids = [];
  for (let count = 0; count < 3; count += 1) ids.unshift(requestIdOf(await server.search(live, { query: "cats" })));
  const at = async (range: Record<string, string>) =>
    pluck((await find({ text: liveKeyId, ...range })).body.searches, "request_id");
  assert.deepEqual(await at({ from: new Date(Date.now() - 60_000).toISOString() }), ids);
  assert.deepEqual(await at({ to: new Date(Date.now() - 60_000).toISOString() }), []);
  assert.equal((await find({ text: walletId, from: "2020-01-01" })).body.has_more, false);
});

test("a view of searches is recorded once an hour, and shows nothing if it cannot be recorded", async () => {
  const { walletId, live } = await createWallet("0.05");
  const id = requestIdOf(await server.search(live, { query: "cats" }));
  await prepareRefusal(db.owner);
  await db.owner.query("alter table pb.changes enable trigger zz_refuse");
  for (const parameters of [{ text: id }, { text: walletId, from: "2020-01-01" }])
    assert.equal((await find(parameters)).status, 500);
  await db.owner.query("alter table pb.changes disable trigger zz_refuse");
  for (const parameters of [{ text: id }, { text: id }, { text: walletId, from: "2020-01-01" }])
    assert.equal((await find(parameters)).status, 200);
  assert.deepEqual(await readLooks(walletId), [
    { operator: "alice", act: "account.view", subject: walletId, visibility: "operator" },
  ]);
});

test("a look-up needs three characters, a valid time and an operator", async () => {
  for (const parameters of [{}, { text: "ab" }, { text: "x".repeat(301) }, { text: "abc", from: "14:03" }])
    assert.equal((await find(parameters as Record<string, string>)).body.code, "invalid_request");
  assert.equal((await server.operate("find?text=abc", undefined, "not-a-token")).status, 401);
});

test("a change of a limit is listed with who made it and the values before and after", async () => {
  const { walletId, liveKeyId, management } = await createWallet("0.05");
  const { status } = await server.manage(management, "PATCH", `/v1/keys/${liveKeyId}`, { budget: { day: "2.00" } });
  assert.equal(status, 200);
  await server.operate(`wallets/${walletId}/suspend`, { reason: "under review" });
  const { changes } = (await server.operate(`wallets/${walletId}/changes`)).body;
  assert.deepEqual(pluck(changes, "actor", "by", "act", "reason").slice(0, 3), [
    ["operator", "alice", "account.view", null],
    ["operator", "alice", "wallet.suspend", "under review"],
    ["key", "management", "key.change", null],
  ]);
  assert.match(JSON.stringify(changes[2].after), /2\.00/);
  const first = (await server.operate(`wallets/${walletId}/changes?limit=1`)).body;
  const second = (await server.operate(`wallets/${walletId}/changes?limit=1&cursor=${first.next_cursor}`)).body;
  assert.equal(second.changes[0].act, "wallet.suspend");
  assert.equal((await server.operate(`wallets/${randomUUIDv7()}/changes`)).status, 404);
});

test("a deleted account is found by its wallet, without a name, members or balance", async () => {
  const request = { accountName: "Gone", email: "gone@quay.test", personName: "Gone", openingCredit: 5_000_000n };
  const { accountId, walletId } = await signUp(db.owner, { ...request, act: testAct }, { pepper: testPepper });
  assert.equal((await find({ text: walletId })).body.wallets[0].balance, "5.00");
  assert.equal((await deleteAccount(db.owner, testAct, accountId, true)).outcome, "deleted");
  for (const text of [walletId, accountId]) {
    const [wallet] = (await find({ text })).body.wallets;
    assert.deepEqual([wallet.name, wallet.balance, wallet.account.name, wallet.account.owners], ["", "0.00", "", []]);
    assert.notEqual(wallet.account.deleted_at, null);
  }
  const { accounts } = (await server.operate("accounts")).body;
  const [listed] = accounts.filter(({ id }: { id: string }) => id === accountId);
  assert.deepEqual(pluck(listed.wallets, "balance"), ["0.00"]);
  for (const text of ["gone@quay.test", "Gone"]) assert.deepEqual((await find({ text })).body.wallets, []);
});
