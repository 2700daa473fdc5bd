import assert from "node:assert/strict";
import { randomBytes, randomUUIDv7 } from "node:crypto";
import { after, before, test } from "node:test";
import { parseArgs } from "node:util";
import { fc } from "../../test/support/data/fast-check.ts";
import { seedWallet } from "../../test/support/data/seed-wallet.ts";
import { createTestDatabase, type TestDatabase } from "../../test/support/services/database.ts";
import { type Micros, priceMicros } from "../lib/money.ts";
import { type Reversal, reversePayment } from "./reversals.ts";
import { captureBatch, holdBatch, releaseBatch } from "./statements.ts";
import { beginTopUp, bookPayment } from "./top-ups.ts";
import { formatReport, reconcile } from "./upkeep/reconcile.ts";

// Compares the ledger with a small model over random histories of payments, refunds, disputes and searches, reported in
// any order and repeatedly. Long run: node server/src/wallet/reversals.test.ts --runs=2000

const { values } = parseArgs({ options: { runs: { type: "string" }, seed: { type: "string" } }, strict: false });
const runs = Number(values["runs"] ?? 60);

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
  await database.owner.query(`alter database ${database.name} set synchronous_commit = off`);
});
after(() => database.drop());

/** Expected state of one wallet. */
class Model {
  balance: Micros = 0n;
  held: Micros = 0n;
  owed: Micros = 0n;
  isSuspended = false;
  readonly credited = new Set<number>();
  readonly reversals = new Map<string, Reversal["state"]>();

  pay(payment: number, amount: Micros): string {
    if (this.credited.has(payment)) return "repeated";
    this.credited.add(payment);
    this.balance += amount;
    this.settle();
    return "credited";
  }

  reverse(payment: number, { id, kind, amount, state }: Reversal): string {
    if (!this.credited.has(payment)) return "not_credited";
    const known = this.reversals.get(id);
    if (known === undefined) {
      this.reversals.set(id, state);
      if (state !== "returned") this.take(kind, amount);
      return state;
    }
    if (state === "returned" && known !== "returned") {
      this.reversals.set(id, state);
      this.balance += amount;
      this.settle();
      if (![...this.reversals].some(([name, its]) => name.startsWith("dispute") && its !== "returned"))
        this.isSuspended = false;
      return "returned";
    }
    if (state === "lost" && known === "taken") {
      this.reversals.set(id, state);
      return "lost";
    }
    return state === "lost" && known === "returned" ? "conflicting" : "repeated";
  }

  /** Takes what is available; the rest becomes debt. */
  take(kind: Reversal["kind"], amount: Micros): void {
    const available = this.balance - this.held;
    const taken = available < amount ? available : amount;
    this.balance -= taken;
    this.owed += amount - taken;
    if (kind === "dispute") this.isSuspended = true;
  }

  settle(): void {
    const available = this.balance - this.held;
    const settled = available < this.owed ? available : this.owed;
    this.balance -= settled;
    this.owed -= settled;
  }
}

type Action =
  | { do: "pay"; payment: number }
  | { do: "refund"; payment: number; number: number; state: "taken" | "returned" }
  | { do: "dispute"; payment: number; number: number; state: Reversal["state"] }
  | { do: "search"; times: number; end: "capture" | "release" | "later" }
  | { do: "finish"; end: "capture" | "release" }
  /** Repeats the last payment, refund or dispute. */
  | { do: "repeat" };

const paymentAmounts = [50_000n, 90_000n, 200_000n];
const payment = fc.nat({ max: paymentAmounts.length - 1 });
const number = fc.nat({ max: 1 });
/** One cent, or the whole payment: a refund plus a dispute can exceed the payment. */
const reversedAmount = (of: number, which: number): Micros => (which === 0 ? 10_000n : (paymentAmounts[of] ?? 0n));

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("pay" as const), payment }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("repeat" as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("refund" as const),
      payment,
      number,
      state: fc.constantFrom("taken" as const, "taken" as const, "returned" as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("dispute" as const),
      payment,
      number,
      state: fc.constantFrom("taken" as const, "returned" as const, "lost" as const),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("search" as const),
      times: fc.integer({ min: 1, max: 6 }),
      end: fc.constantFrom("capture" as const, "release" as const, "later" as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("finish" as const), end: fc.constantFrom("capture", "release") }),
  },
);

/** One wallet with three pending top-ups. */
class Fixture {
  readonly #model = new Model();
  readonly #topUps: string[] = [];
  #seed = { walletId: "", keyId: "" };
  #last: Action | undefined;
  #open: { searchId: string; walletId: string; keyId: string }[] = [];
  readonly seen: Map<string, number>;

  constructor(seen: Map<string, number>) {
    this.seen = seen;
  }

  async begin(): Promise<void> {
    this.#seed = await seedWallet(database.owner);
    for (const amount of paymentAmounts) {
      const request = { amount, keyHmac: randomBytes(32), fingerprint: randomBytes(32) };
      this.#topUps.push((await beginTopUp(database.tenant, this.#seed.walletId, request)).id);
    }
  }

  async run(step: Action): Promise<void> {
    const { walletId } = this.#seed;
    if (step.do === "repeat") return this.#last && this.run(this.#last);
    if (step.do === "pay" || step.do === "refund" || step.do === "dispute") this.#last = step;
    if (step.do === "search") await this.#search(step.times, step.end);
    else if (step.do === "finish") await this.#finish(step.end);
    else if (step.do === "pay") {
      const [topUpId = "", amount = 0n] = [this.#topUps[step.payment], paymentAmounts[step.payment]];
      const paid = { paymentId: `pi ${topUpId}`, topUpId, amount, receiptUrl: null };
      const outcome = await bookPayment(database.payments, walletId, paid);
      this.#expect(step.do, outcome, this.#model.pay(step.payment, amount));
    } else {
      const { do: kind, payment: of, number: which, state } = step;
      const name = `${kind} ${of} ${which} ${walletId}`;
      const reversal: Reversal = { id: name, kind, amount: reversedAmount(of, which), state };
      const outcome = await reversePayment(database.payments, walletId, { id: `pi ${this.#topUps[of]}` }, reversal);
      this.#expect(kind, outcome, this.#model.reverse(of, reversal));
    }
    await this.#compare();
  }

  /** Releases all holds, so that the final reconciliation finds none overdue. */
  end(): Promise<void> {
    return this.#finish("release");
  }

  async #search(times: number, end: "capture" | "release" | "later"): Promise<void> {
    const items = Array.from({ length: times }, () => ({ searchId: randomUUIDv7(), ...this.#seed }));
    const outcomes = await holdBatch(database.ledger, items);
    const model = this.#model;
    for (const [index, item] of items.entries()) {
      const isPaid = !model.isSuspended && model.balance - model.held >= priceMicros;
      this.#expect("search", String(outcomes[index]?.outcome === "held"), String(isPaid));
      if (!isPaid) continue;
      model.held += priceMicros;
      this.#open.push(item);
    }
    if (end !== "later") await this.#finish(end);
  }

  async #finish(end: "capture" | "release"): Promise<void> {
    const items = this.#open;
    this.#open = [];
    if (items.length === 0) return;
    await (end === "capture" ? captureBatch(database.ledger, items) : releaseBatch(database.ledger, items));
    const amount = priceMicros * BigInt(items.length);
    this.#model.held -= amount;
    if (end === "capture") this.#model.balance -= amount;
    else this.#model.settle();
  }

  #expect(what: string, actual: string, expected: string): void {
    assert.equal(actual, expected, what);
    this.seen.set(`${what} ${actual}`, (this.seen.get(`${what} ${actual}`) ?? 0) + 1);
  }

  async #compare(): Promise<void> {
    const { rows } = await database.owner.query(
      `select credited_micros - debited_micros as balance, held_micros as held, suspended_at is not null as "isSuspended",
         owed_micros as owed
       from pb.wallets where id = $1`,
      [this.#seed.walletId],
    );
    const { balance, held, owed, isSuspended } = this.#model;
    assert.deepEqual(rows, [{ balance, held, isSuspended, owed }]);
    assert.ok(balance >= held && held >= 0n, "a balance is never negative");
    if (owed > 0n) this.seen.set("in debt", (this.seen.get("in debt") ?? 0) + 1);
  }
}

test("refunds and disputes in any order never make a balance negative or credit a payment twice, and debt is settled first", async () => {
  const seen = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 25, size: "max" }), async (actions) => {
      const fixture = new Fixture(seen);
      await fixture.begin();
      try {
        for (const step of actions) await fixture.run(step);
      } finally {
        await fixture.end();
      }
    }),
    {
      numRuns: runs,
      ...(values["seed"] !== undefined && { seed: Number(values["seed"]) }),
      plugins: values["runs"] === undefined ? [fc.interruptAfterTimeLimit(30_000)] : [],
    },
  );
  for (const outcome of ["pay credited", "pay repeated", "refund taken", "refund returned", "refund repeated"]) {
    assert.ok((seen.get(outcome) ?? 0) > 0, outcome);
  }
  for (const outcome of [
    "dispute taken",
    "dispute returned",
    "dispute lost",
    "search true",
    "search false",
    "in debt",
  ]) {
    assert.ok((seen.get(outcome) ?? 0) > 0, outcome);
  }
  const report = await reconcile(database.owner);
  assert.ok(report.isClean, formatReport(report));
});
