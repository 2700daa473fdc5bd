import { type Micros, priceMicros } from "../../src/lib/money.ts";
import type {
  CaptureRequest,
  Hold,
  HoldOutcome,
  HoldRequest,
  RefundOutcome,
  Settlement,
  SpentBudget,
  TopUp,
  TopUpOutcome,
} from "../../src/wallet/statements.ts";
import {
  type ModelBudget,
  type ModelBudgetState,
  type ModelClaim,
  type ModelHoldOutcome,
  type ModelKey,
  type ModelSearch,
  type ModelWallet,
  type ModelWindow,
  type Resets,
  sharedAlerts,
  sharedName,
} from "./model-rows.ts";

// The expected behaviour of pb.hold, pb.capture and the other ledger functions, as plain maps and one item at a time,
// without batches, locks or SQL. Time is set by the test: it moves a row's timestamp in the database to make it overdue
// or stale, and a new day or month is a counter.

interface Payment extends Pick<ModelSearch, "price" | "windows"> {
  key: ModelKey;
  wallet: ModelWallet;
}

const refusals = {
  total: "key_budget_spent",
  day: "key_budget_spent",
  week: "key_budget_spent",
  month: "key_budget_spent",
  end_user: "end_user_budget_spent",
  run: "run_budget_spent",
} as const;

type Rejection = Exclude<HoldOutcome["outcome"], "held">;

export class LedgerModel {
  day = 0;
  week = 0;
  month = 0;
  /** Situations that occurred. */
  readonly seen = new Set<string>();
  /** Opened by the batch. */
  readonly #newRuns = new Set<ModelWindow>();
  readonly wallets = new Map<string, ModelWallet>();
  readonly keys = new Map<string, ModelKey>();
  /** By place. One that has ended is replaced by the next hold. */
  readonly windows = new Map<string, ModelWindow>();
  readonly searches = new Map<string, ModelSearch>();
  readonly claims = new Map<string, ModelClaim>();
  readonly payments = new Map<string, TopUp & { kind: string }>();
  readonly refunds = new Set<string>();
  readonly reversals = new Map<string, "taken" | "returned">();
  /** Entries of refunded payments and of debt, by wallet. */
  readonly debtEntries: { kind: string; walletId: string; amount: Micros }[] = [];
  readonly warnings: { window: ModelWindow; percent: number }[] = [];
  readonly skewedIds = new Set<string>();

  /**
   * Stale claims of the batch are expired first, as by the sweeper, then the items are processed one by one. Wallets
   * share only search ids, and the database processes wallet by wallet.
   */
  hold(items: readonly HoldRequest[]): ModelHoldOutcome[] {
    const takenOver = items.map((item) => this.#staleClaim(item)?.searchId);
    for (const searchId of takenOver) if (this.#settleUnpaid(searchId, "expired")) this.seen.add("took over");
    this.#newRuns.clear();
    this.#settleDebts();

    const outcomes: ModelHoldOutcome[] = [];
    for (const walletId of [...new Set(items.map((item) => item.walletId))].sort())
      for (const [index, item] of items.entries())
        if (item.walletId === walletId)
          outcomes[index] = { budgets: this.#describeBudgets(item), ...this.#holdOne(item) };
    this.#warn();
    return outcomes;
  }

  setBudget(id: string, amount: Micros): void {
    for (const window of this.windows.values())
      if (window.budgetId === id) Object.assign(window, { max: amount, written: amount });
    this.#warn();
  }

  endRaise({ id, amount }: ModelBudget): void {
    for (const window of this.windows.values()) if (window.budgetId === id) window.max = amount;
  }

  /** Once per window and percentage, while the amount spent is at least that part of the limit in its row. */
  #warn(): void {
    for (const window of this.windows.values()) {
      const { kind, isShared, spent, written } = window;
      if (!isShared || kind !== "week" || this.hasEnded(window)) continue;
      for (const percent of sharedAlerts) {
        const isReached = spent * 100n >= written * BigInt(percent);
        if (isReached && percent <= window.warned) this.seen.add("not warned again");
        if (!isReached || percent <= window.warned) continue;
        window.warned = percent;
        this.warnings.push({ window, percent });
      }
    }
  }

  capture(items: readonly CaptureRequest[]): Settlement[] {
    for (const { searchId, walletId, answer } of items) {
      const search = this.searches.get(searchId);
      if (search?.walletId !== walletId || search.state !== "pending" || search.isOverdue) continue;
      const wallet = this.#wallet(walletId);
      search.state = "captured";
      wallet.held -= search.price;
      wallet.debited += search.price;
      const claim = this.claims.get(search.claimId ?? "");
      if (claim?.searchId === searchId) claim.answer = answer?.toString("hex");
    }
    return items.map((item) => this.#settlement(item));
  }

  release(items: readonly Hold[]): Settlement[] {
    for (const { searchId, walletId } of items)
      if (this.searches.get(searchId)?.walletId === walletId) this.#settleUnpaid(searchId, "released");
    this.#settleDebts();
    return items.map((item) => this.#settlement(item));
  }

  expire(): number {
    const overdue = [...this.searches.values()].filter((search) => search.state === "pending" && search.isOverdue);
    for (const search of overdue) this.#settleUnpaid(search.id, "expired");
    this.#settleDebts();
    return overdue.length;
  }

  topUp(kind: string, items: readonly TopUp[]): TopUpOutcome[] {
    const outcomes = items.map((item): TopUpOutcome => {
      const wallet = this.wallets.get(item.walletId);
      if (!wallet) return "unknown_wallet";
      const before = this.payments.get(item.paymentId);
      if (before)
        return before.walletId === item.walletId && before.amount === item.amount ? "repeated" : "conflicting";
      this.payments.set(item.paymentId, { ...item, kind });
      wallet.credited += item.amount;
      return "credited";
    });
    this.#settleDebts();
    return outcomes;
  }

  /** A refund of a payment at the processor, or its failure. */
  reverse(paymentId: string, state: "taken" | "returned"): string {
    const payment = this.payments.get(paymentId);
    if (!payment) return "not_credited";
    const { walletId, amount } = payment;
    const wallet = this.#wallet(walletId);
    const before = this.reversals.get(paymentId);
    if (before === "returned" || before === state) return "repeated";
    this.reversals.set(paymentId, state);
    if (state === "taken") {
      const available = wallet.credited - wallet.debited - wallet.held;
      const taken = available < amount ? available : amount;
      wallet.debited += taken;
      wallet.owed += amount - taken;
      if (taken > 0n) this.debtEntries.push({ kind: "reversal", walletId, amount: taken });
      if (taken < amount) this.debtEntries.push({ kind: "receivable", walletId, amount: amount - taken });
    } else if (before === "taken") {
      wallet.credited += amount;
      this.debtEntries.push({ kind: "reinstatement", walletId, amount });
      this.#settleDebts();
    }
    return state;
  }

  refund(items: readonly Hold[]): RefundOutcome[] {
    const outcomes = items.map(({ searchId, walletId }): RefundOutcome => {
      const search = this.searches.get(searchId);
      if (search?.walletId !== walletId || search.state !== "captured" || search.price === 0n) return "not_captured";
      if (this.refunds.has(searchId)) return "repeated";
      this.refunds.add(searchId);
      this.#wallet(walletId).credited += search.price;
      return "refunded";
    });
    this.#settleDebts();
    return outcomes;
  }

  #holdOne(item: HoldRequest): ModelHoldOutcome {
    const rejection = this.#rejectId(item) ?? this.#rejectKey(item) ?? this.#rejectClaim(item);
    if (rejection) return rejection;
    const key = this.#key(item.keyId);
    const wallet = this.#wallet(item.walletId);
    const price = key.mode === "live" ? priceMicros : 0n;
    const { owed } = wallet;
    const balance = wallet.credited - wallet.debited;
    if (price > 0n && price > balance - owed) return { outcome: "insufficient_balance", balance, owed };
    if (price > 0n && price > balance - wallet.held - owed) return { outcome: "balance_reserved", balance };

    const windows = this.#windowsOf(item);
    const full = windows.find((window) => window.subject === undefined || window.spent + priceMicros > window.max);
    if (full && full.subject === undefined) return { outcome: "end_user_required" };
    if (full)
      return {
        outcome: refusals[full.kind],
        limit: full.max,
        spent: full.spent,
        resets: this.#end(full),
        budget: describeSpent(full),
      };
    this.#writeHold(item, { key, wallet, price, windows });
    return { outcome: "held", balance };
  }

  #rejectId(item: HoldRequest): ModelHoldOutcome | undefined {
    if (this.skewedIds.has(item.searchId)) return { outcome: "clock_skewed" };
    const search = this.searches.get(item.searchId);
    if (!search) return undefined;
    if (search.walletId !== item.walletId) return { outcome: "id_taken" };
    if (search.state !== "pending" || search.isOverdue) return { outcome: "lost" };
    return { outcome: "held", balance: this.#balance(item.walletId) };
  }

  #rejectKey(item: HoldRequest): { outcome: Rejection } | undefined {
    const key = this.keys.get(item.keyId);
    const wallet = this.wallets.get(item.walletId);
    if (!wallet || key?.walletId !== wallet.id || key.mode === "mgmt") return { outcome: "api_key_invalid" };
    if (key.isRevoked) return { outcome: "api_key_revoked" };
    if (key.isExpired) return { outcome: "api_key_expired" };
    return wallet.isSuspended ? { outcome: "account_suspended" } : undefined;
  }

  #rejectClaim(item: HoldRequest): ModelHoldOutcome | undefined {
    const claim = this.claims.get(this.#claimId(item) ?? "");
    if (!claim || claim.age === "expired") return undefined;
    if (claim.fingerprint !== item.idempotency?.fingerprint.toString("hex"))
      return { outcome: "idempotency_key_reused" };
    if (claim.answer === undefined) return { outcome: "idempotency_in_progress" };
    return { outcome: "replayed", balance: this.#balance(item.walletId), answer: claim.answer };
  }

  /** The windows that an item counts in, without the item itself. */
  #describeBudgets(item: HoldRequest): ModelBudgetState[] {
    if (this.#rejectKey(item)?.outcome === "api_key_invalid") return [];
    const counted = this.#rejectId(item)?.outcome === "held" ? priceMicros : 0n;
    return this.#windowsOf(item)
      .filter(({ subject }) => subject !== undefined)
      .map((window) => ({
        limit: window.kind,
        ...(window.isShared && { budgetId: window.budgetId }),
        max: window.max,
        spent: window.spent > counted ? window.spent - counted : 0n,
        resets: this.#end(window),
      }));
  }

  /** In the order of refusals. One that is missing or has ended is new. */
  #windowsOf({ walletId, keyId, endUser, run }: HoldRequest): ModelWindow[] {
    const { mode, limits } = this.#key(keyId);
    const { day, week, month } = this;
    const open = (window: Pick<ModelWindow, "kind" | "isShared" | "budgetId" | "subject" | "max">): ModelWindow => {
      const place = `${walletId} ${mode} ${window.budgetId} ${window.subject}`;
      const known = this.windows.get(place);
      if (known && !this.hasEnded(known)) return known;
      return {
        ...window,
        written: window.max,
        place,
        walletId,
        mode,
        spent: 0n,
        day,
        week,
        month,
        isOver: false,
        warned: 0,
      };
    };
    const ofKey = (limits?.budgets ?? []).map(({ id: budgetId, kind, amount, raise, isShared }) =>
      open({ kind, isShared, budgetId, subject: kind === "end_user" ? endUser : "", max: amount + raise }),
    );
    if (!run) return ofKey;
    const { name: subject, maxMicros: max } = run;
    return [...ofKey, open({ kind: "run", isShared: false, budgetId: undefined, subject, max })];
  }

  hasEnded({ kind, day, week, month, isOver }: ModelWindow): boolean {
    if (kind === "day" || kind === "end_user") return day !== this.day;
    if (kind === "week") return week !== this.week;
    return kind === "month" ? month !== this.month : isOver;
  }

  /** Whether its row has not been replaced. */
  isCurrent(window: ModelWindow): boolean {
    return this.windows.get(window.place) === window;
  }

  #end(window: ModelWindow): Resets {
    if (window.kind === "run") return this.isCurrent(window) ? "run" : "never";
    if (window.kind === "total") return "never";
    return window.kind === "end_user" ? "day" : window.kind;
  }

  #writeHold(item: HoldRequest, { key, wallet, price, windows }: Payment): void {
    wallet.held += price;
    for (const window of windows) {
      const replaced = this.windows.get(window.place);
      if (replaced && replaced !== window) this.seen.add("replaced a window");
      if (!replaced && window.kind === "run") this.#newRuns.add(window);
      else if (this.#newRuns.has(window)) this.seen.add("joined a new run");
      if (window.lastKeyId !== undefined && window.lastKeyId !== item.keyId) this.seen.add("shared a window");
      window.lastKeyId = item.keyId;
      window.spent += priceMicros;
      window.written = window.max;
      this.windows.set(window.place, window);
    }
    const claimId = this.#claimId(item);
    const { searchId, walletId, endUser } = item;
    const fingerprint = item.idempotency?.fingerprint.toString("hex");
    if (claimId && fingerprint)
      this.claims.set(claimId, { id: claimId, fingerprint, searchId, answer: undefined, age: "fresh" });
    const search = { id: searchId, walletId, mode: key.mode, price, windows, endUser, claimId };
    this.searches.set(searchId, { ...search, state: "pending", isOverdue: false });
  }

  /** The claim that this item takes over: its search has not finished, and the item passes all checks before it. */
  #staleClaim(item: HoldRequest): ModelClaim | undefined {
    if (this.searches.has(item.searchId) || this.#rejectKey(item)) return undefined;
    const claim = this.claims.get(this.#claimId(item) ?? "");
    if (!claim || claim.age === "fresh" || claim.answer !== undefined) return undefined;
    return claim.fingerprint === item.idempotency?.fingerprint.toString("hex") ? claim : undefined;
  }

  #settleUnpaid(searchId: string | undefined, state: "released" | "expired"): boolean {
    const search = this.searches.get(searchId ?? "");
    if (search?.state !== "pending") return false;
    search.state = state;
    this.#wallet(search.walletId).held -= search.price;
    for (const window of search.windows) {
      if (!this.isCurrent(window)) this.seen.add("returned too late for a window");
      window.spent -= priceMicros;
    }
    if (this.claims.get(search.claimId ?? "")?.searchId === search.id) this.claims.delete(search.claimId ?? "");
    return true;
  }

  /** After every call that can make money available. */
  #settleDebts(): void {
    for (const wallet of this.wallets.values()) {
      const available = wallet.credited - wallet.debited - wallet.held;
      const amount = available < wallet.owed ? available : wallet.owed;
      if (amount === 0n) continue;
      wallet.debited += amount;
      wallet.owed -= amount;
      this.debtEntries.push({ kind: "settlement", walletId: wallet.id, amount });
    }
  }

  #settlement({ searchId, walletId }: Hold): Settlement {
    const balance = this.#balance(walletId);
    const search = this.searches.get(searchId);
    if (search?.walletId !== walletId) return { state: "unknown", balance };
    return { state: search.state === "pending" && search.isOverdue ? "expired" : search.state, balance };
  }

  #claimId({ walletId, keyId, idempotency }: HoldRequest): string | undefined {
    return idempotency && `${walletId} ${this.keys.get(keyId)?.mode} ${idempotency.keyHmac.toString("hex")}`;
  }

  #balance(walletId: string): Micros {
    const wallet = this.#wallet(walletId);
    return wallet.credited - wallet.debited;
  }

  #wallet(id: string): ModelWallet {
    const wallet = this.wallets.get(id);
    if (!wallet) throw new Error(`no wallet ${id}`);
    return wallet;
  }

  #key(id: string): ModelKey {
    const key = this.keys.get(id);
    if (!key) throw new Error(`no key ${id}`);
    return key;
  }
}

function describeSpent({ kind, isShared, budgetId }: ModelWindow): SpentBudget | null {
  if (kind === "run") return null;
  const period = kind === "end_user" ? "day" : kind;
  return { id: isShared ? (budgetId ?? null) : null, name: isShared ? sharedName : null, period };
}
