import assert from "node:assert/strict";
import { randomBytes, randomUUIDv7 } from "node:crypto";
import { test } from "node:test";
import { createDatabase } from "../../test/fixture.ts";
import { lockWallet } from "../../test/support/data/lock-wallet.ts";
import { seedWallet } from "../../test/support/data/seed-wallet.ts";
import { busy } from "../db/settle-batch.ts";
import { captureBatch, type HoldRequest, holdBatch, type IdempotencyClaim, sendHolds } from "./statements.ts";

// Claims on Idempotency-Keys that were written under another version of the secret.

const database = await createDatabase();
const { owner, ledger } = database;

type Seed = Awaited<ReturnType<typeof seedWallet>>;
const request = (seed: Seed, idempotency: IdempotencyClaim): HoldRequest => ({
  searchId: randomUUIDv7(),
  walletId: seed.walletId,
  keyId: seed.keyId,
  idempotency,
});
const newClaim = (secretVersion: number) => ({ keyHmac: randomBytes(32), fingerprint: randomBytes(32), secretVersion });
const toBytes = ({ secretVersion, keyHmac, fingerprint }: ReturnType<typeof newClaim>): Buffer =>
  Buffer.concat([Buffer.of(secretVersion), keyHmac, fingerprint]);

async function outcomeOf(item: HoldRequest): Promise<string | undefined> {
  return (await holdBatch(ledger, [item], false))[0]?.outcome;
}

test("a claim under another version of the secret is found when the batch has a locked wallet", async (t) => {
  const [seed, locked] = [await seedWallet(owner, { credit: 50_000n }), await seedWallet(owner, { credit: 50_000n })];
  const [one, two] = [newClaim(1), newClaim(2)];
  const first = request(seed, one);
  assert.equal(await outcomeOf(first), "held");
  await captureBatch(ledger, [{ ...first, answer: Buffer.from("answer") }]);
  const fresh = newClaim(2);
  const items = [
    request(locked, newClaim(2)),
    request(seed, { ...two, otherClaims: toBytes(one) }),
    request(seed, { ...fresh, otherClaims: toBytes(newClaim(1)) }),
  ];
  const lock = await lockWallet(database, locked);
  t.after(lock.release);
  const results = await sendHolds(ledger, items, { isResend: false, lockWait: "none" });
  assert.deepEqual(
    results.map((result) => (result === busy ? "busy" : result.outcome)),
    ["busy", "replayed", "held"],
  );
  const { rows } = await owner.query(
    "select secret_version from pb.idempotency where wallet_id = $1 and key_hmac = $2",
    [seed.walletId, fresh.keyHmac],
  );
  assert.deepEqual(rows, [{ secret_version: 2 }]);
});

test("a claim of a day ago under another version is free", async () => {
  const seed = await seedWallet(owner, { credit: 50_000n });
  const [one, two] = [newClaim(1), newClaim(2)];
  assert.equal(await outcomeOf(request(seed, one)), "held");
  await owner.query("update pb.idempotency set claimed_at = claimed_at - interval '24 hours' where wallet_id = $1", [
    seed.walletId,
  ]);
  assert.equal(await outcomeOf(request(seed, { ...two, otherClaims: toBytes(one) })), "held");
  const retry = request(seed, { ...one, otherClaims: toBytes(two) });
  assert.equal(await outcomeOf(retry), "idempotency_in_progress");
});

test("a version beyond one byte cannot be stored", async () => {
  const seed = await seedWallet(owner, { credit: 50_000n });
  assert.equal(await outcomeOf(request(seed, newClaim(255))), "held");
  await assert.rejects(outcomeOf(request(seed, newClaim(256))), /secret_version_is_one_byte/);
});
