import { inTransaction } from "../db/in-transaction.ts";
import type { Pool, Queryable } from "../db/pool.ts";
import { type Act, recordAct } from "../db/record-act.ts";
import { formatUsd, type Micros } from "../lib/money.ts";

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
export function setTrialTerms(owner: Pool, terms: TrialTerms, act: Act): Promise<boolean> {
  return inTransaction(owner, async (db) => {
    const previous = await readTrialTerms(db);
    const { rowCount } = await db.query(
      `update pb.trial_terms set amount_micros = $1, max_per_day = $2
       where (amount_micros, max_per_day) is distinct from ($1::bigint, $2::integer)`,
      [terms.amount, terms.maxPerDay],
    );
    if (rowCount === 0) return false;
    const [before, after] = [describe(previous), describe(terms)];
    await recordAct(db, act, { act: "trial_terms.change", subject: "trial_terms", before, after });
    return true;
  });
}

function describe({ amount, maxPerDay }: TrialTerms): Record<string, unknown> {
  return { amount: formatUsd(amount), max_per_day: maxPerDay };
}
