import type { Queryable } from "../../../src/db/pool.ts";

export interface SeededChange {
  at: Date;
  act: string;
  subject: string;
  /** Why, if an operator did it. */
  reason?: string;
  operator?: string;
  /** The person who did it instead of an operator. Owners see the row. */
  personId?: string;
  walletId?: string | undefined;
  accountId?: string;
  outcome?: string;
  before?: Record<string, unknown>;
  after?: Record<string, unknown>;
}

/** A row of the list of changes at a given time. */
export async function seedChange(owner: Queryable, change: SeededChange): Promise<void> {
  const { at, act, subject, reason, outcome = "done", walletId, accountId, personId, before, after } = change;
  const operator = personId === undefined ? (change.operator ?? "alice") : null;
  const json = (values: Record<string, unknown> | undefined) => (values ? JSON.stringify(values) : null);
  await owner.query(
    `insert into pb.changes
       (at, actor, operator, actor_id, act, subject, account_id, wallet_id, reason, outcome, before, after, salt, values_digest, visibility)
     select $1, case when $10::uuid is null then 'operator' else 'person' end, $2, $10, $3, $4,
       coalesce($5, (select account_id from pb.wallets where id = $6)), $6, $7, $8, v.before, v.after, s.salt,
       pb.values_digest(s.salt, v.before, v.after), case when $10 is null then 'operator' else 'owner' end
     from (values ($11::jsonb, $9::jsonb)) v (before, after), (values (sha256(convert_to($4, 'UTF8')))) d (digest),
       lateral (select case when v is distinct from row(null::jsonb, null::jsonb) then substr(d.digest, 1, 16) end as salt) s`,
    [
      at,
      operator,
      act,
      subject,
      accountId ?? null,
      walletId ?? null,
      reason ?? null,
      outcome,
      json(after),
      personId ?? null,
      json(before),
    ],
  );
}
