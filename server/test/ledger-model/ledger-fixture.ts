import assert from "node:assert/strict";
import { createHash, randomUUIDv7 } from "node:crypto";
import type { Micros } from "../../src/lib/money.ts";
import { reversePayment } from "../../src/wallet/reversals.ts";
import {
  captureBatch,
  expireHolds,
  type HoldRequest,
  holdBatch,
  refundBatch,
  releaseBatch,
  topUpBatch,
} from "../../src/wallet/statements.ts";
import { readLedger } from "../support/assertions/read-ledger.ts";
import { seedKey, seedSharedBudget, toLimits } from "../support/data/seed-wallet.ts";
import { shiftCalendar } from "../support/data/shift-calendar.ts";
import type { TestDatabase } from "../support/services/database.ts";
import { comparable, withResetTimes } from "./compare-outcomes.ts";
import { describeModel } from "./describe-model.ts";
import { LedgerModel } from "./ledger-model.ts";
import { type BudgetKind, budgetKinds, type ModelBudget, type Resets, sharedAlerts, sharedName } from "./model-rows.ts";
import {
  type Action,
  type FixturePlan,
  type HoldPlan,
  keyKinds,
  type Limits,
  type SettlePlan,
  type SharedAmounts,
} from "./plans.ts";
import { createSearchIds } from "./search-ids.ts";

// Wallets and keys that exist both in PostgreSQL and in the model. Each action is applied to both, and their results and
// states must be equal.

interface FixtureWallet {
  id: string;
  keys: Record<(typeof keyKinds)[number], string>;
  shared: ModelBudget[];
}

export class LedgerFixture {
  readonly #database: TestDatabase;
  readonly #model = new LedgerModel();
  readonly #wallets: FixtureWallet[] = [];
  readonly #searchIds = createSearchIds(this.#model.skewedIds);
  readonly #paymentPrefix = randomUUIDv7();

  /** The number of occurrences of each outcome. */
  readonly #outcomes: Map<string, number>;

  constructor(database: TestDatabase, outcomes: Map<string, number>) {
    this.#database = database;
    this.#outcomes = outcomes;
  }

  async seed(plan: FixturePlan): Promise<void> {
    // Sorted, because the database processes wallets in the order of their ids, and a plan must be reproducible.
    const ids = plan.wallets.map(() => randomUUIDv7()).sort();
    for (const [index, { credit, limits, shared }] of plan.wallets.entries()) {
      const id = ids[index] as string;
      await this.#seedWallet(id, limits, shared);
      if (credit > 0n) await this.#topUp("top_up", [{ payment: 1_000 + index, wallet: index, amount: credit }]);
    }
  }

  async apply(action: Action): Promise<void> {
    if (action.do === "hold") await this.#hold(action.items);
    else if (action.do === "top up") await this.#topUp(action.kind, action.items);
    else if ("items" in action) await this.#settle(action.do, action.items);
    else if (action.do === "reverse") await this.#reverse(action.payment, action.state);
    else if (action.do === "expire")
      assert.equal((await expireHolds(this.#database.owner, 1_000)).holds, this.#model.expire());
    else await this.#applyAsOwner(action);
    this.#count("seen", [...this.#model.seen]);
    this.#model.seen.clear();
    await this.compare();
  }

  /** Compares all ledger rows of these wallets. */
  async compare(): Promise<void> {
    const { owner } = this.#database;
    const walletIds = this.#wallets.map((wallet) => wallet.id);
    assert.deepEqual(await readLedger(owner, walletIds), describeModel(this.#model));
    for (const { credited, debited, held, owed } of this.#model.wallets.values()) {
      const available = credited - debited - held;
      assert.ok(owed > 0n ? available === 0n : available >= 0n);
    }
  }

  /** Expires every hold, so that the sweeper of the next history finds only its own. */
  async end(): Promise<void> {
    await this.apply({ do: "make overdue", searches: [...this.#model.searches.keys()].map((_, index) => index) });
    await this.apply({ do: "expire" });
    for (const wallet of this.#model.wallets.values()) assert.equal(wallet.held, 0n);
  }

  async #seedWallet(id: string, limits: Limits, amounts: SharedAmounts): Promise<void> {
    const { owner } = this.#database;
    await owner.query("insert into pb.wallets (id, name) values ($1, 'A wallet')", [id]);
    const kinds: Record<(typeof keyKinds)[number], { mode: "live" | "test" | "mgmt"; isExpired?: boolean }> = {
      plain: { mode: "live" },
      budgeted: { mode: "live" },
      rotated: { mode: "live" },
      sharing: { mode: "live" },
      test: { mode: "test" },
      "budgeted test": { mode: "test" },
      expired: { mode: "live", isExpired: true },
      mgmt: { mode: "mgmt" },
    };
    const keys = {} as FixtureWallet["keys"];
    const seedKind = async (kind: (typeof keyKinds)[number]): Promise<void> => {
      const key = { isExpired: false, ...kinds[kind] };
      keys[kind] = await seedKey(owner, id, key);
      this.#model.keys.set(keys[kind], { ...key, id: keys[kind], walletId: id, isRevoked: false });
    };
    await Promise.all(keyKinds.map(seedKind));
    this.#model.wallets.set(id, { id, credited: 0n, debited: 0n, held: 0n, owed: 0n, isSuspended: false });
    const shared: ModelBudget[] = [];
    for (const kind of ["week", "end_user"] as const) {
      const budget = { amount: amounts[kind], period: kind === "week" ? "week" : "day", isPerEndUser: kind !== "week" };
      shared.push({
        id: await seedSharedBudget(owner, id, {
          ...budget,
          name: sharedName,
          alerts: kind === "week" ? sharedAlerts : [],
        }),
        kind,
        amount: amounts[kind],
        isShared: true,
        raise: 0n,
      });
    }
    const wallet = { id, keys, shared };
    this.#wallets.push(wallet);
    await this.#setLimits(wallet, "sharing", {});
    for (const mode of ["live", "test"] as const) await this.#setLimits(wallet, mode, limits);
  }

  async #hold(plans: HoldPlan[]): Promise<void> {
    const items = plans.map((plan) => this.#holdRequest(plan));
    const ids = items.map(({ searchId }) => searchId);
    const areNew = new Set(ids).size === ids.length && !ids.some((id) => this.#model.searches.has(id));
    // Some new items are also marked as sent before, as after a lost request.
    const wereSentBefore = !areNew || items.length % 3 === 0;
    const outcomes = await holdBatch(this.#database.ledger, items, wereSentBefore);
    const expected = this.#model.hold(items);
    this.#count(
      "hold",
      expected.map(({ outcome }) => outcome),
    );
    const calendar = await this.#readResets(items);
    for (const [index, each] of expected.entries())
      assert.deepEqual(
        { ...comparable(outcomes[index]), budgets: outcomes[index]?.budgets ?? [] },
        withResetTimes(each, calendar[index]),
        `item ${index}: ${each.outcome}`,
      );
  }

  #holdRequest(plan: HoldPlan): HoldRequest {
    const wallet = this.#wallet(plan.wallet);
    const keyOwner = this.#wallet(plan.wallet + (plan.isForeignKey ? 1 : 0));
    const { idempotency, run, endUser } = plan;
    return {
      searchId: this.#searchIds((plan.wallet + (plan.isForeignId ? 1 : 0)) % this.#wallets.length, plan.search),
      walletId: wallet.id,
      keyId: keyOwner.keys[plan.key],
      ...(idempotency && {
        idempotency: {
          keyHmac: sha256(`key ${idempotency.key}`),
          fingerprint: sha256(`body ${idempotency.body}`),
        },
      }),
      ...(run && { run: { name: `run ${run.name}`, maxMicros: run.max, ttlSeconds: 3_600 } }),
      ...(endUser !== undefined && { endUser: `user ${endUser}` }),
    };
  }

  async #settle(action: "capture" | "release" | "refund", plans: SettlePlan[]): Promise<void> {
    const { ledger, owner } = this.#database;
    const items = plans.map(({ search, isUnknown, isForeignWallet }) => {
      const searchId = (isUnknown ? undefined : this.#heldBefore(search)) ?? randomUUIDv7();
      const wallet = this.#wallets.findIndex(({ id }) => id === this.#model.searches.get(searchId)?.walletId);
      const walletId = this.#wallet(Math.max(wallet, 0) + (isForeignWallet ? 1 : 0)).id;
      return { searchId, walletId, answer: Buffer.from(`answer to ${searchId} of ${walletId}`), reason: "a test" };
    });
    if (action === "refund") {
      const expected = this.#model.refund(items);
      this.#count(action, expected);
      assert.deepEqual(await refundBatch(owner, items), expected);
    } else {
      const batch = action === "capture" ? captureBatch : releaseBatch;
      const expected = this.#model[action](items);
      this.#count(
        action,
        expected.map(({ state }) => state),
      );
      assert.deepEqual(await batch(ledger, items), expected);
    }
  }

  #count(action: string, outcomes: string[]): void {
    for (const outcome of outcomes) {
      const name = `${action}: ${outcome}`;
      this.#outcomes.set(name, (this.#outcomes.get(name) ?? 0) + 1);
    }
  }

  async #topUp(kind: "top_up" | "credit", plans: { payment: number; wallet: number; amount: Micros }[]): Promise<void> {
    const items = plans.map(({ payment, wallet, amount }) => ({
      paymentId: `${this.#paymentPrefix} ${payment}`,
      // An index past the last is an unknown wallet.
      walletId: this.#wallets[wallet]?.id ?? randomUUIDv7(),
      amount,
    }));
    const expected = this.#model.topUp(kind, items);
    this.#count("top up", expected);
    assert.deepEqual(await topUpBatch(this.#database.owner, kind, items), expected);
  }

  /** Refunds the whole payment at the processor, or reports that the refund failed. */
  async #reverse(payment: number, state: "taken" | "returned"): Promise<void> {
    const paymentId = `${this.#paymentPrefix} ${payment}`;
    const { walletId, amount } = this.#model.payments.get(paymentId) ?? { walletId: this.#wallet(0).id, amount: 1n };
    const reversal = { id: `re ${paymentId}`, kind: "refund", amount, state } as const;
    const expected = this.#model.reverse(paymentId, state);
    this.#count("reverse", [expected]);
    assert.equal(await reversePayment(this.#database.payments, walletId, { id: paymentId }, reversal), expected);
  }

  async #applyAsOwner(action: Exclude<Action, { items: unknown } | { do: "expire" | "reverse" }>): Promise<void> {
    const { owner } = this.#database;
    const model = this.#model;
    switch (action.do) {
      case "next day":
      case "next week":
      case "next month":
        model.day += 1;
        if (action.do === "next week") model.week += 1;
        if (action.do === "next month") model.month += 1;
        return shiftCalendar(
          owner,
          this.#wallets.map(({ id }) => id),
          action.do,
        );
      case "make overdue":
        return this.#makeOverdue(action.searches.flatMap((search) => this.#heldBefore(search) ?? []));
      case "age claims":
        return this.#ageClaims(this.#wallet(action.wallet).id, action.age);
      case "end run":
        return this.#endRun(this.#wallet(action.wallet).id, action.mode, `run ${action.name}`);
      case "revoke": {
        const key = model.keys.get(this.#wallet(action.wallet).keys[action.key]);
        if (key) key.isRevoked = true;
        await owner.query("select pb.revoke_key($1, $2)", [key?.walletId, key?.id]);
        return;
      }
      case "suspend": {
        const wallet = model.wallets.get(this.#wallet(action.wallet).id);
        if (wallet) wallet.isSuspended = action.isSuspended;
        await owner.query("select pb.suspend_wallet($1, $2)", [wallet?.id, action.isSuspended]);
        return;
      }
      case "set limits":
        return this.#setLimits(this.#wallet(action.wallet), action.mode, action.limits);
      case "set budget":
        return this.#setBudget(this.#wallet(action.wallet), action.kind, action.amount);
      case "raise budget":
        return this.#raiseBudget(this.#wallet(action.wallet), action.amount);
      case "end raise":
        return this.#endRaise(this.#wallet(action.wallet));
    }
  }

  async #setBudget({ shared }: FixtureWallet, kind: keyof SharedAmounts, amount: Micros): Promise<void> {
    const budget = shared.find((each) => each.kind === kind);
    assert(budget);
    budget.amount = amount;
    await this.#database.owner.query("select pb.set_budget_amount(b, $2) from pb.budgets b where b.id = $1", [
      budget.id,
      amount,
    ]);
    this.#model.setBudget(budget.id, amount + budget.raise);
  }

  /** As an approval does. */
  async #raiseBudget(wallet: FixtureWallet, raise: Micros): Promise<void> {
    const budget = weeklyOf(wallet);
    budget.raise = raise;
    const { owner } = this.#database;
    const end = "clock_timestamp() + interval '1 hour'";
    await owner.query(`update pb.budgets set raise_micros = $2, raise_ends_at = ${end} where id = $1`, [
      budget.id,
      raise,
    ]);
    await owner.query("select pb.set_budget_amount(b, b.amount_micros) from pb.budgets b where b.id = $1", [budget.id]);
    this.#model.setBudget(budget.id, budget.amount + raise);
  }

  /** Only time passes: nothing is written to the window. */
  async #endRaise(wallet: FixtureWallet): Promise<void> {
    const budget = weeklyOf(wallet);
    if (budget.raise > 0n) this.#model.seen.add("raise ended");
    budget.raise = 0n;
    this.#model.endRaise(budget);
    const end = "update pb.budgets set raise_ends_at = clock_timestamp() where id = $1 and raise_ends_at is not null";
    await this.#database.owner.query(end, [budget.id]);
  }

  async #makeOverdue(searchIds: string[]): Promise<void> {
    for (const id of searchIds) {
      const search = this.#model.searches.get(id);
      if (search) search.isOverdue = true;
    }
    await this.#database.owner.query(
      "update pb.searches set expires_at = clock_timestamp() - interval '1 second' where id = any ($1)",
      [searchIds],
    );
  }

  async #ageClaims(walletId: string, age: "stale" | "expired"): Promise<void> {
    for (const claim of this.#model.claims.values())
      if (claim.id.startsWith(walletId) && claim.age !== "expired") claim.age = age;
    await this.#database.owner.query(
      "update pb.idempotency set claimed_at = least(claimed_at, clock_timestamp() - $2::interval) where wallet_id = $1",
      [walletId, age === "stale" ? "16 seconds" : "25 hours"],
    );
  }

  async #endRun(walletId: string, mode: "live" | "test", name: string): Promise<void> {
    const run = this.#model.windows.get(`${walletId} ${mode} undefined ${name}`);
    if (run) run.isOver = true;
    await this.#database.owner.query(
      `update pb.budget_windows set resets_at = clock_timestamp() - interval '1 second'
       where wallet_id = $1 and mode = $2 and budget_id is null and subject = $3`,
      [walletId, mode, name],
    );
  }

  /** Through any of the keys that share the limits. A budget that stays keeps its id and the amount spent. */
  async #setLimits(
    { id: walletId, keys, shared }: FixtureWallet,
    kind: "live" | "test" | "sharing",
    limits: Partial<Limits>,
  ): Promise<void> {
    const { owner } = this.#database;
    const mode = kind === "test" ? "test" : "live";
    const keyIds = { live: [keys.budgeted, keys.rotated], test: [keys["budgeted test"]], sharing: [keys.sharing] }[
      kind
    ];
    const own = kind === "test" ? [] : shared;
    const before = this.#model.keys.get(keyIds[0] as string)?.limits;
    const { end_user: amount, ...others } = limits;
    const endUser = amount === undefined ? undefined : { amount, period: "day" as const };
    const saved = await owner.query<{ id: string | null }>("select pb.save_key_limits($1, $2, $3, $4) as id", [
      walletId,
      before?.id ?? null,
      mode,
      toLimits({ ...others, endUser, shared: own.map(({ id }) => id) }),
    ]);
    const limitsId = saved.rows[0]?.id ?? null;
    await owner.query("update pb.keys set limits_id = $1 where id = any ($2)", [limitsId, keyIds]);
    const { rows } = await owner.query<{ id: string; kind: BudgetKind }>(
      `select b.id, case when b.per_end_user then 'end_user' else coalesce(b.period, 'total') end as kind
       from pb.key_limit_budgets l join pb.budgets b on b.id = l.budget_id
       where l.limits_id = $1 and b.name is null order by l.position`,
      [limitsId],
    );
    for (const each of before?.budgets ?? [])
      if (!each.isShared && each.kind !== "week" && limits[each.kind] !== undefined)
        assert.equal(rows.find((row) => row.kind === each.kind)?.id, each.id);
    const limited = budgetKinds.flatMap((each): ModelBudget[] => {
      const given = limits[each];
      const { id = "" } = rows.find((row) => row.kind === each) ?? {};
      return given === undefined ? [] : [{ id, kind: each, amount: given, isShared: false, raise: 0n }];
    });
    assert.deepEqual(
      limited.map(({ id }) => id),
      rows.map(({ id }) => id),
    );
    const [ofEndUser, ofKey] = [true, false].map((is) =>
      [...limited, ...own].filter((each) => (each.kind === "end_user") === is),
    );
    const budgets = [...(ofKey ?? []), ...(ofEndUser ?? [])];
    for (const id of keyIds)
      Object.assign(this.#model.keys.get(id) ?? {}, {
        limits: limitsId === null ? undefined : { id: limitsId, budgets },
      });
    for (const window of this.#model.windows.values()) {
      const budget = limited.find(({ id }) => id === window.budgetId);
      if (budget) Object.assign(window, { max: budget.amount, written: budget.amount });
    }
  }

  /** The times of "day", "month" and "run" for each item. */
  async #readResets(items: HoldRequest[]): Promise<Record<Resets, Date | null>[]> {
    const { rows } = await this.#database.owner.query<{ day: Date; week: Date; month: Date; run: Date | null }>(
      `select (pb.utc_day(clock_timestamp()) + 1)::timestamp at time zone 'utc' as day,
         (date_trunc('week', clock_timestamp() at time zone 'utc') + interval '1 week') at time zone 'utc' as week,
         (pb.utc_month(clock_timestamp()) + interval '1 month') at time zone 'utc' as month,
         r.resets_at as run
       from unnest($1::uuid[], $2::text[], $3::text[]) with ordinality as i (wallet_id, name, mode, item)
       left join pb.budget_windows r
         on r.wallet_id = i.wallet_id and r.mode::text = i.mode and r.budget_id is null and r.subject = i.name
       order by i.item`,
      [
        items.map((item) => item.walletId),
        items.map((item) => item.run?.name ?? null),
        items.map((item) => this.#model.keys.get(item.keyId)?.mode ?? null),
      ],
    );
    return rows.map((row) => ({ ...row, never: null }));
  }

  #heldBefore(search: number): string | undefined {
    const ids = [...this.#model.searches.keys()];
    return ids[search % ids.length];
  }

  #wallet(index: number): FixtureWallet {
    return this.#wallets[index % this.#wallets.length] as FixtureWallet;
  }
}

function weeklyOf({ shared }: FixtureWallet): ModelBudget {
  return shared.find(({ kind }) => kind === "week") ?? assert.fail();
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
