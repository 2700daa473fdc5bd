import { priceMicros } from "../../src/lib/money.ts";
import type { LedgerModel } from "./ledger-model.ts";

/** The model's rows in the format of readLedger. */
export function describeModel(model: LedgerModel): string[] {
  const yes = (value: boolean): string => (value ? "t" : "f");
  const row = (...cells: (string | bigint | undefined)[]): string => cells.map((cell) => cell ?? "-").join(" ");
  const has = (period: number | undefined, now: number): string => yes(period === now);
  return [
    ...[...model.wallets.values()].map((w) =>
      row("wallet", w.id, w.credited, w.debited, w.held, w.owed, yes(w.isSuspended)),
    ),
    ...model.debtEntries.map(({ kind, walletId, amount }) => row(kind, walletId, amount)),
    ...[...model.budgets.values()].map(({ id, spent, day, month }) =>
      row("budget", id, spent.total, spent.day, has(day, model.day), spent.month, has(month, model.month)),
    ),
    ...[...model.endUsers.values()].map(({ budgetId, name, spent, day }) =>
      row("end user", budgetId, name, spent, has(day, model.day)),
    ),
    ...[...model.runs.values()].map((run) =>
      row("run", run.mode, run.walletId, run.name, run.max, run.spent, yes(run.hasEnded)),
    ),
    ...[...model.searches.values()].map((s) =>
      row(
        "search",
        s.id,
        s.walletId,
        s.mode,
        s.price,
        s.state,
        s.budget?.id,
        s.run && model.hasRun(s.run) ? s.run.name : undefined,
        s.endUserName,
        yes(s.endUser !== undefined),
      ),
    ),
    ...[...model.claims.values()].map((claim) =>
      row("claim", claim.id, claim.fingerprint, claim.searchId, claim.answer),
    ),
    ...[...model.payments.values()].map((p) => row("payment", p.walletId, p.paymentId, p.amount, p.kind)),
    ...[...model.refunds].map((id) => row("refund", model.searches.get(id)?.walletId, id, priceMicros)),
    ...[...model.searches.values()]
      .filter((search) => search.state === "captured" && search.price > 0n)
      .map((search) => row("charge", search.walletId, search.id, search.price)),
  ].sort();
}
