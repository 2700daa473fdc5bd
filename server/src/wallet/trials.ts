import { createHmac } from "node:crypto";
import type { Queryable } from "../db/pool.ts";
import type { Micros } from "../lib/money.ts";
import { topUpBatch } from "./statements.ts";

export interface Trial {
  accountId: string;
  walletId: string;
  /** Whose it is. Kept as an HMAC alone. */
  mailbox: string;
  amount: Micros;
  mostPerDay: number;
  secret: Buffer;
}

/** One per mailbox and account, so many a day (UTC) in all. Give it the transaction that makes the account. */
export async function giveTrial(db: Queryable, trial: Trial): Promise<"given" | "already_given" | "day_is_full"> {
  const { accountId, walletId, amount } = trial;
  const mailboxHmac = createHmac("sha256", trial.secret).update(`trial ${trial.mailbox}`).digest();
  const { rows } = await db.query<{ outcome: "given" | "already_given" | "day_is_full" }>(
    "select pb.take_trial($1, $2, $3, $4) as outcome",
    [accountId, mailboxHmac, amount, trial.mostPerDay],
  );
  const outcome = rows[0]?.outcome ?? "day_is_full";
  if (outcome === "given") {
    await topUpBatch(db, "credit", [{ paymentId: `trial-${accountId}`, walletId, amount }]);
  }
  return outcome;
}
