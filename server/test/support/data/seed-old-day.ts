import { randomUUIDv7 } from "node:crypto";
import type { Queryable } from "../../../src/db/pool.ts";
import { seedKey, seedKeyLimits } from "./seed-wallet.ts";
import { uuidOf } from "./uuid-of.ts";

const dayMs = 86_400_000;

export interface OldDay {
  /** Such as "2030-01-31". */
  day: string;
  walletId: string;
}

/**
 * An old day as the ledger would have left it: a wallet with a top-up of one dollar and five captured searches on a budget,
 * one of them refunded today. Must run before any day is closed.
 */
export async function seedOldDay(owner: Queryable, daysAgo: number): Promise<OldDay> {
  const noon = Math.floor(Date.now() / dayMs) * dayMs - (daysAgo - 0.5) * dayMs;
  const at = new Date(noon);
  const day = at.toISOString().slice(0, 10);
  await owner.query("select pb.make_partitions($1::date, $1::date)", [day]);
  const walletId = randomUUIDv7();
  await owner.query(
    `insert into pb.wallets (id, name, credited_micros, debited_micros, created_at) values ($1, 'old', 1010000, 50000, $2)`,
    [walletId, at],
  );
  const limitsId = await seedKeyLimits(owner, walletId, { total: 100_000_000n, day: 100_000_000n });
  const windows = await owner.query<{ id: bigint }>(
    `insert into pb.budget_windows (wallet_id, mode, budget_id, subject, limit_micros, spent_micros, opened_at, resets_at)
     select b.wallet_id, b.mode, b.id, '', b.amount_micros, 50000, $2, case when b.period = 'day' then $3::date + 1 end
     from pb.key_limit_budgets l join pb.budgets b on b.id = l.budget_id where l.limits_id = $1 returning id`,
    [limitsId, at, day],
  );
  const keyId = await seedKey(owner, walletId, { limitsId });
  const transferId = uuidOf(noon);
  await owner.query(
    `insert into pb.transfers (id, wallet_id, kind, from_account, to_account, amount_micros, created_at)
     values ($1, $2, 'top_up', 'cash', 'wallet', 1000000, $3)`,
    [transferId, walletId, at],
  );
  await owner.query(
    "insert into pb.payments (payment_id, wallet_id, transfer_id, amount_micros, created_at) values ($1, $2, $3, 1000000, $4)",
    [`old ${walletId}`, walletId, transferId, at],
  );
  const searchIds = Array.from({ length: 5 }, (_, index) => uuidOf(noon + index));
  await owner.query(
    `insert into pb.searches (id, wallet_id, key_id, mode, price_micros, state, held_at, expires_at, settled_at, window_ids)
     select id, $2, $3, 'live', 10000, 'captured', $4::timestamptz, $4, $4, $5 from unnest($1::uuid[]) id`,
    [searchIds, walletId, keyId, at, windows.rows.map(({ id }) => String(id))],
  );
  await owner.query(
    `insert into pb.transfers (id, wallet_id, search_id, kind, from_account, to_account, amount_micros, created_at)
     select id, $2, id, 'capture', 'wallet', 'revenue', 10000, $3 from unnest($1::uuid[]) id`,
    [searchIds, walletId, at],
  );
  const refundId = randomUUIDv7();
  await owner.query(
    `insert into pb.transfers (id, wallet_id, search_id, kind, from_account, to_account, amount_micros, created_at)
     values ($1, $2, $3, 'refund', 'revenue', 'wallet', 10000, now())`,
    [refundId, walletId, searchIds[0]],
  );
  await owner.query("insert into pb.refunds values ($1, $2, $3, 'a test', now())", [searchIds[0], walletId, refundId]);
  for (const [table, column] of [
    ["usage_hours", "hour"],
    ["usage_days", "day"],
  ]) {
    await owner.query(
      `insert into pb.${table} (wallet_id, ${column}, key_id, mode, category, outcome, was_held, searches, charged_micros)
       values ($1, $2, $3, 'live', '', 'ok', true, 5, 50000)`,
      [walletId, column === "day" ? day : at, keyId],
    );
  }
  return { day, walletId };
}
