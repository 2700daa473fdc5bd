import type { Queryable } from "../db/pool.ts";
import type { Micros } from "../lib/money.ts";

/** Free credit for a new account, and the maximum number of such accounts per UTC day. Only the owner can set them. */
export interface TrialTerms {
  amount: Micros;
  maxPerDay: number;
}

export async function readTrialTerms(owner: Queryable): Promise<TrialTerms> {
  const { rows } = await owner.query<TrialTerms>(
    `select amount_micros as amount, max_per_day as "maxPerDay" from pb.trial_terms`,
  );
  const [terms] = rows;
  if (!terms) throw new Error("pb.trial_terms is empty");
  return terms;
}

/** Returns false if these are the current terms. */
export async function setTrialTerms(owner: Queryable, { amount, maxPerDay }: TrialTerms): Promise<boolean> {
  const { rowCount } = await owner.query(
    `update pb.trial_terms set amount_micros = $1, max_per_day = $2
     where (amount_micros, max_per_day) is distinct from ($1::bigint, $2::integer)`,
    [amount, maxPerDay],
  );
  return rowCount === 1;
}
