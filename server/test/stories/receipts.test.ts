import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { test } from "node:test";
import { type Jwks, ReceiptError, verifyReceipt } from "../../../sdk/src/verify/verify.ts";
import { createSigner } from "../../src/lib/sign-jws.ts";
import { refundBatch } from "../../src/wallet/statements.ts";
import { assertProblem } from "../support/assertions/assert-response.ts";
import { pluck } from "../support/assertions/pluck.ts";
import { createPaymentFixture } from "../support/payments/payment-fixture.ts";
import { type TestWallet, testSigningSeed } from "../support/services/server.ts";

// Receipts: signed by the server, verified by the SDK without a connection.

const fixture = await createPaymentFixture();
const { db, server, upstream, createWallet } = fixture;
const wallet = await createWallet("1.00");
const jwks: Jwks = (await server.request("/.well-known/jwks.json")).body;

async function searchFor(key: string, query = "cats"): Promise<string> {
  return (await server.search(key, { query })).headers.get("request-id") ?? "";
}

async function readReceipt(path: string, of: TestWallet = wallet): Promise<string> {
  const { status, body, text } = await server.manage(of.management, "GET", `${path}/receipt`);
  assert.equal(status, 200, text);
  return body.receipt;
}

test("a receipt states the charge and the refund of a search as they are in the ledger", async () => {
  const id = await searchFor(wallet.live);
  await refundBatch(db.owner, [{ searchId: id, walletId: wallet.walletId, reason: "test" }]);
  const claims = await verifyReceipt(await readReceipt(`/v1/searches/${id}`), jwks);
  const { iss, sub, kind, status, amount, currency, entries } = claims;
  assert.deepEqual(
    [iss, sub, kind, claims.id, status, amount, currency],
    ["http://search.test", wallet.walletId, "search", id, "ok", "0.01", "usd"],
  );
  assert.ok(Math.abs(claims.iat - Date.now() / 1_000) < 60);
  const { rows } = await db.owner.query<{ id: string; created_at: string }>(
    `select id, to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as created_at
     from pb.transfers where search_id = $1 order by id desc`,
    [id],
  );
  assert.deepEqual(pluck(entries, "id", "created_at"), pluck(rows, "id", "created_at"));
  assert.deepEqual(pluck(entries, "kind", "amount"), [
    ["refund", "0.01"],
    ["search", "-0.01"],
  ]);
});

test("the receipt of a search that was not charged states its outcome and 0.00", async () => {
  await upstream.behave("poisonous_error");
  const failed = await verifyReceipt(await readReceipt(`/v1/searches/${await searchFor(wallet.live)}`), jwks);
  await upstream.behave("ok");
  assert.deepEqual([failed.status, failed.amount, failed.entries], ["upstream_error", "0.00", []]);
  const free = await verifyReceipt(await readReceipt(`/v1/searches/${await searchFor(wallet.test)}`), jwks);
  assert.deepEqual([free.status, free.amount, free.entries], ["ok", "0.00", []]);
});

test("the receipt of a top-up states the credited amount once it is paid", async () => {
  const paid = await fixture.createPaidWallet("20.00");
  const claims = await verifyReceipt(await readReceipt(`/v1/wallet/top-ups/${paid.topUpId}`, paid), jwks);
  assert.deepEqual([claims.kind, claims.id, claims.status], ["top_up", paid.topUpId, "succeeded"]);
  assert.deepEqual([claims.amount, pluck(claims.entries, "kind", "amount")], ["20.00", [["top_up", "20.00"]]]);
  const { id } = await fixture.openTopUp(paid, "30.00");
  const open = await verifyReceipt(await readReceipt(`/v1/wallet/top-ups/${id}`, paid), jwks);
  assert.deepEqual([open.status, open.amount, open.entries], ["pending", "0.00", []]);
});

test("an unknown search or top-up has no receipt", async () => {
  for (const path of [`/v1/searches/${randomUUIDv7()}/receipt`, `/v1/wallet/top-ups/${randomUUIDv7()}/receipt`]) {
    assertProblem(await server.manage(wallet.management, "GET", path), "not_found", path);
  }
});

test("a receipt that was changed, or signed with another key, is rejected with the reason", async () => {
  const receipt = await readReceipt(`/v1/searches/${await searchFor(wallet.live)}`);
  const [head = "", body = "", signature = ""] = receipt.split(".");
  const claims = JSON.parse(Buffer.from(body, "base64url").toString());
  const forged = Buffer.from(JSON.stringify({ ...claims, amount: "0.00" })).toString("base64url");
  const stranger = createSigner([Buffer.alloc(32, 7)]);
  const own = jwks.keys[0];
  assert.ok(stranger && own);
  const signedByStranger = await stranger.sign("pennyblack-receipt", claims);
  const asOwn = { keys: [{ ...stranger.jwks.keys[0], kid: own["kid"] }] };
  for (const [jws, keys, reason] of [
    [`${head}.${forged}.${signature}`, jwks, "wrong_signature"],
    [`${head}.${body}`, jwks, "malformed"],
    [`${head}.${body}.${signature}.`, jwks, "malformed"],
    [signedByStranger, jwks, "unknown_key"],
    [receipt, asOwn, "wrong_signature"],
    [await stranger.sign("pennyblack-hour", claims), stranger.jwks as Jwks, "wrong_type"],
  ] as const) {
    await assert.rejects(verifyReceipt(jws, keys), (error) => error instanceof ReceiptError && error.reason === reason);
  }
});

test("after a rotation the new key signs, and receipts of the old key stay valid", async (t) => {
  const path = `/v1/searches/${await searchFor(wallet.live)}`;
  const old = await readReceipt(path);
  const seeds = [Buffer.alloc(32, 1), testSigningSeed].map((seed) => seed.toString("base64"));
  const rotated = await fixture.startServer({ PENNYBLACK_SIGNING_KEYS: seeds.join(",") }, t);
  const { body: newKeys } = await rotated.request("/.well-known/jwks.json");
  assert.equal(newKeys.keys.length, 2);
  const { receipt } = (await rotated.manage(wallet.management, "GET", `${path}/receipt`)).body;
  assert.notEqual((await verifyReceipt(receipt, newKeys)).jti, (await verifyReceipt(old, newKeys)).jti);
  await assert.rejects(verifyReceipt(receipt, jwks), { reason: "unknown_key" });
});
