import type { Queryable } from "../../../src/db/pool.ts";

export interface SeededChange {
  at: Date;
  act: string;
  subject: string;
  reason: string;
  operator?: string;
  walletId?: string | undefined;
  accountId?: string;
  outcome?: string;
  after?: Record<string, unknown>;
}

/** A row of the list of changes at a time of its own. */
export async function seedChange(owner: Queryable, change: SeededChange): Promise<void> {
  const { at, act, subject, reason, operator = "alice", outcome = "done", walletId, accountId, after } = change;
  await owner.query(
    `insert into pb.changes
       (at, actor, operator, act, subject, account_id, wallet_id, reason, outcome, after, salt, values_digest, visibility)
     select $1, 'operator', $2, $3, $4, coalesce($5, (select account_id from pb.wallets where id = $6)), $6, $7, $8, v.after, s.salt, pb.values_digest(s.salt, null, v.after), 'operator'
     from (values ($9::jsonb)) v (after), (values (sha256(convert_to($4, 'UTF8')))) d (digest),
       lateral (select case when v.after is not null then substr(d.digest, 1, 16) end as salt) s`,
    [
      at,
      operator,
      act,
      subject,
      accountId ?? null,
      walletId ?? null,
      reason,
      outcome,
      after ? JSON.stringify(after) : null,
    ],
  );
}
