import assert from "node:assert/strict";
import { test } from "node:test";
import { reconcile } from "../../src/wallet/upkeep/reconcile.ts";
import { saveReport } from "../../src/wallet/wallet.ts";
import { createFixture } from "../fixture.ts";
import { assertRecorded, prepareRefusal } from "../support/assertions/assert-recorded.ts";
import { pluck } from "../support/assertions/pluck.ts";
import { until } from "../support/assertions/until.ts";
import { rawRequest, sendRaw } from "../support/raw-http.ts";
import { registeredRoutes } from "../support/registered-routes.ts";
import { operators, operatorToken } from "../support/services/server.ts";

// Operator routes on the internal listener, and their audit log.

const { db, server, createWallet } = await createFixture(({ operatorUrl }) => ({
  PENNYBLACK_OPERATOR_DATABASE_URL: operatorUrl,
  PENNYBLACK_OPERATORS: operators,
}));

async function auditOf(walletId: string): Promise<string[]> {
  const { body } = await server.operate(`audit?wallet=${walletId}`);
  return body.lines.map((line: Record<string, string>) =>
    [line["operator"], line["act"], line["outcome"], line["reason"]].join(" "),
  );
}

const pages = ["upstreams", "wallets", "audit", "reconciliation", "find?text=abc"];

test("every page rejects requests without a valid token", async () => {
  for (const page of pages) assert.equal((await server.operate(page, undefined, "not-a-token")).status, 401, page);
  const { walletId } = await createWallet("0.05");
  const refused = await server.operate(`wallets/${walletId}/credit`, { amount: "5.00" }, "not-a-token");
  assert.deepEqual([refused.status, refused.body.code], [401, "authentication_required"]);
  assert.deepEqual(await auditOf(walletId), []);
});

test("a credit is applied once per reference, and every attempt is logged and in the audit log", async () => {
  const { walletId, management } = await createWallet("0.05");
  const credit = { amount: "5.00", kind: "promotion", reference: "WELCOME-1", reason: "first customer" };
  assert.deepEqual((await server.operate(`wallets/${walletId}/credit`, credit)).body, {
    outcome: "credited",
    balance: "5.05",
  });
  assert.deepEqual((await server.operate(`wallets/${walletId}/credit`, credit)).body.outcome, "repeated");
  const other = await server.operate(`wallets/${walletId}/credit`, { ...credit, amount: "6.00" });
  assert.equal(other.body.outcome, "conflicting");
  assert.equal((await server.readMoney(management)).balance, "5.05");
  assert.deepEqual(await auditOf(walletId), [
    "alice adjustment.request conflicting first customer",
    "alice adjustment.request repeated first customer",
    "alice adjustment.request booked first customer",
  ]);
  const logged = server
    .logged()
    .match(/"method":"POST","route":"\/operator\/wallets\/:id\/credit","status":200,.*"operator":"alice"/g);
  assert.equal(logged?.length, 3);
});

test("a credit above the limit waits for a second operator", async () => {
  const { walletId, management } = await createWallet("0.05");
  const credit = { amount: "1000000.00", kind: "invoice", reference: "INV-1000000", reason: "a typo" };
  for (let times = 0; times < 2; times += 1) {
    const { body } = await server.operate(`wallets/${walletId}/credit`, credit);
    assert.deepEqual([body.outcome, body.balance], ["requested", "0.05"]);
    assert.match(body.adjustment_id, /^[0-9a-f-]{36}$/);
  }
  assert.equal((await server.readMoney(management)).balance, "0.05");
});

test("a search is refunded by its Request-Id at most once", async () => {
  const { live, management, walletId } = await createWallet("0.05");
  const reply = await server.search(live, { query: "cats" });
  const requestId = reply.headers.get("request-id") ?? "";
  const path = `searches/${requestId}/refund`;
  assert.equal((await server.operate(path, { reason: "wrong answer" })).body.outcome, "refunded");
  assert.equal((await server.operate(path, { reason: "wrong answer" })).body.outcome, "repeated");
  assert.equal((await server.readMoney(management)).balance, "0.05");
  assert.equal((await server.operate(`searches/${walletId}/refund`, { reason: "no such search" })).status, 404);
  assert.deepEqual(await auditOf(walletId), [
    "alice search.refund repeated wrong answer",
    "alice search.refund refunded wrong answer",
  ]);
});

test("a suspended wallet cannot search until it is resumed, and a revoked key cannot search", async () => {
  const { live, liveKeyId, walletId } = await createWallet("0.05");
  await server.operate(`wallets/${walletId}/suspend`, { reason: "under review" });
  // The key may be cached for up to a second; the hold checks the wallet again.
  assert.deepEqual((await server.search(live, { query: "cats" })).body.code, "account_suspended");
  await server.operate(`wallets/${walletId}/resume`, { reason: "review passed" });
  await until("the key works again", async () => (await server.search(live, { query: "cats" })).status === 200);
  assert.equal((await server.operate(`keys/${liveKeyId}/revoke`, { reason: "leaked" })).body.outcome, "revoked");
  assert.equal((await server.search(live, { query: "cats" })).body.code, "api_key_revoked");
  assert.deepEqual(await auditOf(walletId), [
    "alice key.revoke revoked leaked",
    "alice wallet.resume done review passed",
    "alice wallet.suspend done under review",
  ]);
});

test("an action requires a reason, and invalid input returns 400 or 404 without an audit entry", async () => {
  const { walletId } = await createWallet("0.05");
  for (const body of [{}, { reason: "" }, { reason: "x".repeat(501) }, { reason: "x", extra: 1 }]) {
    const { status, body: problem } = await server.operate(`wallets/${walletId}/suspend`, body);
    assert.deepEqual([status, problem.code], [400, "invalid_request"]);
    assert.equal(problem.errors.length, 1);
  }
  for (const path of [`wallets/${crypto.randomUUID()}/suspend`, "wallets/none/suspend", `keys/${walletId}/revoke`]) {
    assert.equal((await server.operate(path, { reason: "x" })).status, 404, path);
  }
  assert.deepEqual(await auditOf(walletId), []);
});

test("wallets are listed in pages, newest first, and found by a part of their name", async () => {
  const made = [];
  for (let count = 0; count < 3; count += 1) made.unshift((await createWallet("0.05")).walletId);
  const first = await server.operate("wallets?limit=2");
  const second = await server.operate(`wallets?limit=2&cursor=${first.body.next_cursor}`);
  const ids = [...first.body.wallets, ...second.body.wallets].map((wallet: { id: string }) => wallet.id);
  assert.deepEqual(ids.slice(0, 3), made);
  assert.equal((await server.operate("wallets?name=TES")).body.wallets.length > 0, true);
  assert.deepEqual((await server.operate("wallets?name=unknown")).body.wallets, []);
  assert.equal((await server.operate(`wallets/${made[0]}`)).body.balance, "0.05");
});

test("the last reconciliation can be read", async () => {
  assert.equal((await server.operate("reconciliation")).body.last, null);
  const report = await reconcile(db.owner);
  await saveReport(db.owner, report);
  const { last, before } = (await server.operate("reconciliation")).body;
  assert.deepEqual([last.differences, last.checks.length, before], [0, report.checks.length, []]);
});

test("margins are listed by day and upstream", async () => {
  await db.owner.query(
    "insert into pb.upstream_days values (current_date, 'brave', 'ok', 10, 60000, 90000, 50000), (current_date, 'brave', 'timeout', 2, 0, 0, 0)",
  );
  const { days } = (await server.operate("margin")).body;
  const [today] = days;
  assert.deepEqual([today.provider, today.calls, today.failures], ["brave", 12, { timeout: 2 }]);
  assert.deepEqual([today.cost, today.revenue, today.margin], ["0.06", "0.09", "0.03"]);
  assert.deepEqual([today.paid_cost, today.unpaid_cost], ["0.05", "0.01"]);
  const { walletId } = await createWallet("0.05");
  await db.owner.query(
    "insert into pb.upstream_wallet_days values (current_date, $1, 'brave', 3, 15001, 1, 5000, 2, 10001)",
    [walletId],
  );
  const other = await createWallet("0.05");
  await db.owner.query(
    "insert into pb.upstream_wallet_days values (current_date, $1, 'brave', 4, 20000, 4, 20000, 0, 0)",
    [other.walletId],
  );
  const figures = {
    calls: 3,
    unpaid_calls: 2,
    abandoned_calls: 2,
    revenue: "0.00",
    cost: "0.015001",
    paid_cost: "0.005",
    unpaid_cost: "0.010001",
    margin: "-0.015001",
  };
  const own = (await server.operate(`margin?wallet=${walletId}`)).body;
  assert.deepEqual(own.wallets, [{ wallet_id: walletId, name: "test", ...figures }]);
  assert.deepEqual(own.wallet_days, [{ day: today.day, wallet_id: walletId, ...figures }]);
  const all = (await server.operate("margin")).body;
  // Searches of other tests can follow, which cost nothing.
  assert.deepEqual(pluck(all.wallets.slice(0, 2), "wallet_id", "cost"), [
    [other.walletId, "0.02"],
    [walletId, "0.015001"],
  ]);
  assert.deepEqual(pluck(all.unpaid_wallets.slice(0, 1), "wallet_id", "unpaid_cost"), [[walletId, "0.010001"]]);
  assert.deepEqual(pluck(all.days.slice(0, 1), "provider", "unpaid_calls", "abandoned_calls"), [["brave", 2, 2]]);
  assert.equal((await server.operate("margin?wallet=1")).status, 400);
  assert.equal((await server.operate("margin?from=yesterday")).status, 400);
  assert.equal((await server.operate("margin?from=2020-01-01&to=2020-01-31")).body.days.length, 0);
});

test("the audit log is append-only, even for the owner of the tables", async () => {
  for (const sql of ["update pb.changes set reason = 'x'", "delete from pb.changes", "truncate pb.changes"]) {
    await assert.rejects(db.owner.query(sql), /this table is append-only/, sql);
  }
});

test("the operator's role can move money only through its functions", async () => {
  const { walletId } = await createWallet("0.05");
  for (const sql of [
    `select pb.top_up('{x}', '{${walletId}}', '{1000000}', '{${walletId}}', 'credit')`,
    `select pb.suspend_wallet('${walletId}', true)`,
    `update pb.wallets set credited_micros = 1`,
    `insert into pb.changes (actor, operator, act, subject, outcome, visibility) values ('operator', 'x', 'key.revoke', 'x', 'x', 'operator')`,
  ]) {
    await assert.rejects(db.operator.query(sql), /permission denied/, sql);
  }
});

test("invalid operator input returns 4xx, never 500", async () => {
  const { walletId } = await createWallet("0.05");
  const suspend = `wallets/${walletId}/suspend`;
  for (const path of ["margin?from=2030-02-30", "margin?to=0000-01-01", "wallets?name=%00", "find?text=a%00@b"])
    assert.equal((await server.operate(path)).status, 400, path);
  assert.equal((await server.operate(suspend, { reason: "a\u0000b" })).status, 400);
  const odd = { authorization: `Bearer ${operatorToken}`, "content-type": "application/json, text/plain" };
  const refused = await fetch(`${server.opsUrl}/operator/${suspend}`, { method: "POST", headers: odd, body: "{}" });
  assert.equal(refused.status, 415);
  const unknownMethod = await sendRaw(
    server.opsUrl,
    rawRequest("QUERY /operator/wallets", [`Authorization: Bearer ${operatorToken}`]),
  );
  assert.equal(unknownMethod.status, 405);
  assert.equal(unknownMethod.headers.get("allow"), "GET, HEAD");
  assert.deepEqual(await auditOf(walletId), []);
});

test("an unknown path of the internal listener returns a problem", async () => {
  for (const [path, detail] of [
    ["/metric", /Did you mean `GET \/metrics`\?/],
    ["/operator/wallet", /Did you mean `GET \/operator\/wallets`\?/],
    ["/v1/search", /This is the internal listener/],
    ["/%zz", /This is the internal listener/],
  ] as const) {
    const { status, headers, body } = await server.request(path, {}, server.opsUrl);
    assert.deepEqual([status, body.code, body.status], [404, "not_found", 404], path);
    assert.match(headers.get("content-type") ?? "", /^application\/problem\+json\b/);
    assert.match(body.detail, detail);
  }
});

test("every operator route that changes something records it in the same transaction", async (t) => {
  const { walletId, live, liveKeyId } = await createWallet("0.05");
  const paid = await server.search(live, { query: "cats" });
  const reason = "a test";
  const requests: Record<string, [path: string, body: object]> = {
    "POST /operator/wallets/{id}/credit": [
      `wallets/${walletId}/credit`,
      { amount: "1.00", kind: "promotion", reference: "R-1", reason },
    ],
    "POST /operator/wallets/{id}/suspend": [`wallets/${walletId}/suspend`, { reason }],
    "POST /operator/wallets/{id}/resume": [`wallets/${walletId}/resume`, { reason }],
    "POST /operator/searches/{id}/refund": [`searches/${paid.headers.get("request-id")}/refund`, { reason }],
    "POST /operator/keys/{id}/revoke": [`keys/${liveKeyId}/revoke`, { reason }],
  };
  const routes = registeredRoutes({ app: { http: server.app.ops } });
  const changing = routes.filter((route) => !/^(?:GET|HEAD) /.test(route) && !route.endsWith(" /operator/session"));
  assert.deepEqual(Object.keys(requests).toSorted(), changing, "add a request to this test");
  await prepareRefusal(db.owner);
  for (const [route, [path, body]] of Object.entries(requests)) {
    const run = async () => assert.equal((await server.operate(path, body)).status, 200, route);
    for (const { operator, act, subject, outcome } of await assertRecorded(db.owner, { run })) {
      assert.equal(operator, "alice");
      t.diagnostic(`${route}: ${act} ${subject} ${outcome}`);
    }
  }
});
