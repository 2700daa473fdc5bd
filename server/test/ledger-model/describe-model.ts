import { priceMicros } from "../../src/lib/money.ts";
import type { LedgerModel } from "./ledger-model.ts";

/** The model's rows in the format of readLedger. */
export function describeModel(model: LedgerModel): string[] {
  const yes = (value: boolean): string => (value ? "t" : "f");
  const row = (...cells: (string | bigint | undefined)[]): string => cells.map((cell) => cell ?? "-").join(" ");
  return [
    ...[...model.wallets.values()].map((w) =>
      row("wallet", w.id, w.credited, w.debited, w.held, w.owed, yes(w.isSuspended)),
    ),
    ...model.debtEntries.map(({ kind, walletId, amount }) => row(kind, walletId, amount)),
    ...[...model.windows.values()].map((w) =>
      row(
        "window",
        w.walletId,
        w.mode,
        w.budgetId ?? "run",
        w.subject || "-",
        w.kind === "end_user" ? undefined : w.written,
        w.spent,
        yes(model.hasEnded(w)),
      ),
    ),
    ...[...model.searches.values()].map((s) =>
      row(
        "search",
        s.id,
        s.walletId,
        s.mode,
        s.price,
        s.state,
        s.endUser,
        BigInt(s.windows.length),
        s.windows
          .filter((window) => model.isCurrent(window))
          .map(({ budgetId, subject }) => `${budgetId ?? "run"}:${subject}`)
          .sort()
          .join(",") || undefined,
      ),
    ),
    ...[...model.claims.values()].map((claim) =>
      row("claim", claim.id, claim.fingerprint, claim.searchId, claim.answer),
    ),
    ...model.warnings.map(({ window, percent }) => row("warning", window.walletId, window.budgetId, BigInt(percent))),
    ...[...model.payments.values()].map((p) => row("payment", p.walletId, p.paymentId, p.amount, p.kind)),
    ...[...model.refunds].map((id) => row("refund", model.searches.get(id)?.walletId, id, priceMicros)),
    ...[...model.searches.values()]
      .filter((search) => search.state === "captured" && search.price > 0n)
      .map((search) => row("charge", search.walletId, search.id, search.price)),
  ].sort();
}
