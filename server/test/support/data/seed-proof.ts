import type { Queryable } from "../../../src/db/pool.ts";

/** A signed hour with a digest of the wallet, so that GET /v1/wallet/proof has a response. Not a valid proof. */
export async function seedProof(owner: Queryable, walletId: string): Promise<void> {
  const end = "timestamptz '2020-01-01T01:00Z'";
  await owner.query(`update pb.ledger_watermark set closed_before = ${end}, closing_before = ${end}`);
  await owner.query(
    `insert into pb.ledger_hours (hour, entries, wallets, credited_micros, debited_micros, owed_micros, closed_at, records_digest, root, signed)
     values ('2020-01-01T00:00Z', 1, 1, 0, 0, 0, now(), sha256(''), sha256(''), 'a.b.c') on conflict do nothing`,
  );
  await owner.query(
    `insert into pb.wallet_hours (hour, wallet_id, entries, credited_micros, debited_micros, owed_micros, digest)
     values ('2020-01-01T00:00Z', $1, 1, 0, 0, 0, sha256('')) on conflict do nothing`,
    [walletId],
  );
}
