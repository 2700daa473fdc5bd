import { type Micros, priceMicros } from "../../src/lib/money.ts";
import type {
  BudgetState,
  CaptureRequest,
  Hold,
  HoldOutcome,
  HoldRequest,
  RefundOutcome,
  Settlement,
  TopUp,
  TopUpOutcome,
} from "../../src/wallet/statements.ts";

// The expected behaviour of pb.hold, pb.capture and the other ledger functions, as plain maps and one item at a time,
// without batches, locks or SQL. Time is set by the test: it moves a row's timestamp in the database to make it overdue
// or stale, and a new day or month is a counter.

type Mode = "live" | "test" | "mgmt";

export interface ModelKey {
  id: string;
  walletId: string;
  mode: Mode;
  budgetId?: string | undefined;
  isRevoked: boolean;
  isExpired: boolean;
}

export interface ModelBudget {
  id: string;
  /** That of an end user is per day. */
  limits: Record<Period | "endUser", Micros | undefined>;
  spent: Record<Period, Micros>;
  /** The day and month that `spent` refers to. */
  day: number | undefined;
  month: number | undefined;
}

type Period = "total" | "day" | "month";

interface ModelWallet {
  id: string;
  credited: Micros;
  debited: Micros;
  held: Micros;
  owed: Micros;
  isSuspended: boolean;
}

interface ModelEndUser {
  budgetId: string;
  name: string;
  spent: Micros;
  day: number;
}

interface ModelRun {
  walletId: string;
  mode: Mode;
  name: string;
  max: Micros;
  spent: Micros;
  hasEnded: boolean;
}

interface ModelSearch {
  id: string;
  walletId: string;
  mode: Mode;
  price: Micros;
  state: "pending" | "captured" | "released" | "expired";
  isOverdue: boolean;
  day: number;
  month: number;
  budget: ModelBudget | undefined;
  run: ModelRun | undefined;
  /** Undefined without a limit per end user. */
  endUser: ModelEndUser | undefined;
  endUserName: string | undefined;
  claimId: string | undefined;
}

interface ModelClaim {
  id: string;
  fingerprint: string;
  searchId: string;
  answer: string | undefined;
  /** Stale after 15 s: it can be taken over. Expired after a day: it is ignored. */
  age: "fresh" | "stale" | "expired";
}

/** When a spent budget resets. "run" is the end of the run, which only the database has. */
export type Resets = "never" | "day" | "month" | "run";

export interface ModelBudgetState extends Omit<BudgetState, "resetsAt"> {
  resets: Resets;
}

export interface ModelHoldOutcome {
  outcome: HoldOutcome["outcome"];
  budgets?: ModelBudgetState[];
  balance?: Micros;
  owed?: Micros;
  answer?: string;
  limit?: Micros;
  spent?: Micros;
  resets?: Resets;
}

interface Payment extends Pick<ModelSearch, "price" | "budget" | "run" | "endUser"> {
  key: ModelKey;
  wallet: ModelWallet;
}

type Rejection = Exclude<HoldOutcome["outcome"], "held">;

export class LedgerModel {
  day = 0;
  month = 0;
  takeovers = 0;
  readonly wallets = new Map<string, ModelWallet>();
  readonly keys = new Map<string, ModelKey>();
  readonly budgets = new Map<string, ModelBudget>();
  /** By budget and name. One of an earlier day is replaced by the next hold. */
  readonly endUsers = new Map<string, ModelEndUser>();
  readonly searches = new Map<string, ModelSearch>();
  readonly claims = new Map<string, ModelClaim>();
  readonly payments = new Map<string, TopUp & { kind: string }>();
  readonly refunds = new Set<string>();
  readonly reversals = new Map<string, "taken" | "returned">();
  /** Entries of refunded payments and of debt, by wallet. */
  readonly debtEntries: { kind: string; walletId: string; amount: Micros }[] = [];
  readonly skewedIds = new Set<string>();
  /** By wallet, mode and name. An expired run is replaced when the same name is opened again. */
  readonly runs = new Map<string, ModelRun>();

  /**
   * Stale claims of the batch are expired first, as by the sweeper, then the items are processed one by one. Wallets
   * share only search ids, and the database processes wallet by wallet.
   */
  hold(items: readonly HoldRequest[]): ModelHoldOutcome[] {
    const takenOver = items.map((item) => this.#staleClaim(item)?.searchId);
    for (const searchId of takenOver) if (this.#settleUnpaid(searchId, "expired")) this.takeovers += 1;
    this.#settleDebts();

    const outcomes: ModelHoldOutcome[] = [];
    for (const walletId of [...new Set(items.map((item) => item.walletId))].sort())
      for (const [index, item] of items.entries())
        if (item.walletId === walletId)
          outcomes[index] = { budgets: this.#describeBudgets(item), ...this.#holdOne(item) };
    return outcomes;
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

    const budget = this.budgets.get(key.budgetId ?? "");
    const spentBudget = budget && this.#rejectBudget(budget);
    if (spentBudget) return spentBudget;
    const endUser = budget && this.#endUser(budget, item);
    const endUserLimit = budget?.limits.endUser;
    if (endUserLimit !== undefined && !endUser) return { outcome: "end_user_required" };
    if (endUserLimit !== undefined && endUser && endUser.spent + priceMicros > endUserLimit)
      return { outcome: "end_user_budget_spent", limit: endUserLimit, spent: endUser.spent, resets: "day" };
    const run = this.#openRun(item, key.mode);
    if (run && run.spent + priceMicros > run.max)
      return {
        outcome: "run_budget_spent",
        limit: run.max,
        spent: run.spent,
        resets: this.#runEnd(run),
      };

    this.#writeHold(item, { key, wallet, price, budget, run, endUser });
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

  /** The limits that an item counts against, without the item itself. */
  #describeBudgets(item: HoldRequest): ModelBudgetState[] {
    if (this.#rejectKey(item)?.outcome === "api_key_invalid") return [];
    const { budgetId, mode } = this.#key(item.keyId);
    const budget = this.budgets.get(budgetId ?? "");
    const run = this.#openRun(item, mode);
    const counted = this.#rejectId(item)?.outcome === "held" ? priceMicros : 0n;
    const endUser = budget && this.#endUser(budget, item);
    const states = [
      ...(budget ? this.#periods(budget) : []),
      ...(endUser
        ? [
            {
              limit: "end_user" as const,
              max: budget.limits.endUser ?? 0n,
              spent: endUser.spent,
              resets: "day" as const,
            },
          ]
        : []),
      ...(run ? [{ limit: "run" as const, max: run.max, spent: run.spent, resets: this.#runEnd(run) }] : []),
    ];
    return states.map((state) => ({ ...state, spent: state.spent > counted ? state.spent - counted : 0n }));
  }

  #periods({ limits, spent, day, month }: ModelBudget): ModelBudgetState[] {
    const all = [
      { limit: "total", max: limits.total, spent: spent.total, resets: "never" },
      { limit: "day", max: limits.day, spent: day === this.day ? spent.day : 0n, resets: "day" },
      { limit: "month", max: limits.month, spent: month === this.month ? spent.month : 0n, resets: "month" },
    ] as const;
    return all.flatMap(({ max, ...state }) => (max === undefined ? [] : [{ ...state, max }]));
  }

  #rejectBudget(budget: ModelBudget): ModelHoldOutcome | undefined {
    const full = this.#periods(budget).find(({ max, spent }) => spent + priceMicros > max);
    return full && { outcome: "key_budget_spent", limit: full.max, spent: full.spent, resets: full.resets };
  }

  #endUser({ id: budgetId, limits }: ModelBudget, { endUser: name }: HoldRequest): ModelEndUser | undefined {
    if (limits.endUser === undefined || name === undefined) return undefined;
    const known = this.endUsers.get(`${budgetId} ${name}`);
    return known?.day === this.day ? known : { budgetId, name, spent: 0n, day: this.day };
  }

  #openRun(item: HoldRequest, mode: Mode): ModelRun | undefined {
    if (!item.run) return undefined;
    const { walletId } = item;
    const { name, maxMicros: max } = item.run;
    const open = this.runs.get(`${walletId} ${mode} ${name}`);
    if (open && !open.hasEnded) return open;
    return { walletId, mode, name, max, spent: 0n, hasEnded: false };
  }

  hasRun(run: ModelRun): boolean {
    return this.runs.get(`${run.walletId} ${run.mode} ${run.name}`) === run;
  }

  #runEnd(run: ModelRun): Resets {
    return this.hasRun(run) ? "run" : "never";
  }

  #writeHold(item: HoldRequest, { key, wallet, price, budget, run, endUser }: Payment): void {
    wallet.held += price;
    if (budget) {
      const { total, day, month } = budget.spent;
      budget.spent = {
        total: total + priceMicros,
        day: priceMicros + (budget.day === this.day ? day : 0n),
        month: priceMicros + (budget.month === this.month ? month : 0n),
      };
      budget.day = this.day;
      budget.month = this.month;
    }
    if (run) {
      run.spent += priceMicros;
      this.runs.set(`${run.walletId} ${run.mode} ${run.name}`, run);
    }
    if (endUser) {
      endUser.spent += priceMicros;
      this.endUsers.set(`${endUser.budgetId} ${endUser.name}`, endUser);
    }
    const claimId = this.#claimId(item);
    const { searchId, walletId, endUser: endUserName } = item;
    const fingerprint = item.idempotency?.fingerprint.toString("hex");
    if (claimId && fingerprint)
      this.claims.set(claimId, { id: claimId, fingerprint, searchId, answer: undefined, age: "fresh" });
    const { mode } = key;
    const { day, month } = this;
    const search = { id: searchId, walletId, mode, price, day, month, budget, run, endUser, endUserName, claimId };
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
    const { price, budget, run, endUser } = search;
    search.state = state;
    this.#wallet(search.walletId).held -= price;
    if (budget) {
      budget.spent.total -= priceMicros;
      if (budget.day === search.day) budget.spent.day -= priceMicros;
      if (budget.month === search.month) budget.spent.month -= priceMicros;
    }
    if (run) run.spent -= priceMicros;
    if (endUser) endUser.spent -= priceMicros;
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
