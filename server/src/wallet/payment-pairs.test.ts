import assert from "node:assert/strict";
import { randomBytes, randomUUIDv7 } from "node:crypto";
import { after, before, test } from "node:test";
import { seedWallet } from "../../test/support/data/seed-wallet.ts";
import { createTestDatabase, type TestDatabase } from "../../test/support/services/database.ts";
import type { Micros } from "../lib/money.ts";
import { type AdjustmentRequest, decideAdjustment, requestAdjustment } from "./accounting/adjustments.ts";
import { creditManually } from "./manual-credit.ts";
import { type Reversal, reversePayment } from "./reversals.ts";
import { beginTopUp, bookPayment } from "./top-ups.ts";
import { reconcile } from "./upkeep/reconcile.ts";

// Two sources act on one payment of 200 USD: operators and the payment processor. Every pair of their actions, in both orders,
// and with a report of the processor between the request and the approval of an operator.

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

const usd = 1_000_000n;
const amount = 200n * usd;

/** The steps, the balance and the debt in USD, and the open notices. A step that is refused is written with its outcome. */
type Row = readonly [steps: string, balance: number, owed: number, notices?: string];

const corrections: Row[] = [
  ["operator", 200, 0],
  ["processor", 200, 0],
  ["operator, processor: repeated", 200, 0],
  ["processor, operator: repeated", 200, 0],
  ["operator, correction", 0, 0],
  ["processor, correction: refund_at_processor", 200, 0],
  ["operator, processor: repeated, correction: refund_at_processor", 200, 0],
  ["operator, spending, correction", 0, 200],
  ["operator, correction, operator: repeated", 0, 0],
  ["operator, correction, correction: repeated", 0, 0],

  // The processor reports after the correction, which has taken the payment back.
  ["operator, correction, processor: repeated", 0, 0, "reported_after_correction"],
  ["operator, correction, refund", 0, 0, "reported_after_correction"],
  ["operator, correction, partial refund", 0, 0, "reported_after_correction"],
  ["operator, correction, dispute", 0, 0, "reported_after_correction"],
  ["operator, correction, dispute, dispute won", 0, 0, "reported_after_correction"],
  ["operator, correction, dispute, dispute lost", 0, 0, "reported_after_correction"],
  ["operator, correction, refund, refund failed", 0, 0, "reported_after_correction"],
  ["operator, correction, refund failed", 0, 0, "reported_after_correction"],
  ["operator, correction, processor: repeated, refund", 0, 0, "reported_after_correction"],
  ["operator, spending, correction, refund", 0, 200, "reported_after_correction"],

  // The processor reports before the correction.
  ["operator, refund, correction: refund_at_processor", 0, 0],
  ["operator, partial refund, correction: refund_at_processor", 150, 0],
  ["operator, dispute, correction: refund_at_processor", 0, 0],
  ["operator, dispute, dispute won, correction: refund_at_processor", 200, 0],
  ["operator, dispute, dispute lost, correction: refund_at_processor", 0, 0],
  ["operator, refund, refund failed, correction: refund_at_processor", 200, 0],

  // The processor reports between the request and the approval.
  ["operator, request correction, processor: repeated, approve: refund_at_processor", 200, 0],
  ["operator, request correction, refund, approve: refund_at_processor", 0, 0],
  ["operator, request correction, partial refund, approve: refund_at_processor", 150, 0],
  ["operator, request correction, dispute, approve: refund_at_processor", 0, 0],
  ["operator, request correction, dispute, dispute won, approve: refund_at_processor", 200, 0],
  ["operator, request correction, dispute, dispute lost, approve: refund_at_processor", 0, 0],
  ["operator, request correction, refund, reject, refund: repeated", 0, 0],
  ["operator, request correction, spending, approve", 0, 200],
];

const credits: Row[] = [
  ["request operator", 0, 0],
  ["request operator, approve", 200, 0],
  ["request operator, reject", 0, 0],
  ["request operator, approve, processor: repeated", 200, 0],
  ["request operator, processor, approve: already_credited", 200, 0],
  ["request operator, processor, refund, approve: already_credited", 0, 0],
  ["request operator, processor, dispute, approve: already_credited", 0, 0],
  ["request operator, refund with payment, approve: already_credited", 0, 0],
  ["request operator, deletion, approve: unknown_wallet", 0, 0],
  ["request operator, reject, processor", 200, 0],
];

const refundsAndDisputes: Row[] = [
  ["processor, refund", 0, 0],
  ["processor, partial refund", 150, 0],
  ["processor, refund, partial refund", 0, 50],
  ["processor, partial refund, refund", 0, 50],
  ["processor, spending, refund", 0, 200],
  ["processor, refund, dispute", 0, 200],
  ["processor, dispute, refund", 0, 200],
  ["processor, dispute, refund, dispute won", 0, 0],
  ["processor, partial refund, dispute, dispute won", 150, 0],
  ["processor, dispute, dispute won", 200, 0],
  ["processor, dispute, dispute lost", 0, 0],
  ["processor, dispute lost, dispute won", 200, 0],
  ["processor, dispute, dispute won, dispute lost: conflicting", 200, 0, "won_then_lost"],
  ["refund with payment", 0, 0],
  ["refund: not_credited, processor, refund", 0, 0],
  ["dispute: not_credited, processor, dispute", 0, 0],
];

const writeOffs: Row[] = [
  ["processor, write-off: exceeds_debt", 200, 0],
  ["processor, spending, refund, write-off", 0, 0],
  ["processor, spending, dispute, write-off", 0, 0],
  ["processor, spending, dispute, dispute lost, write-off", 0, 0],
  ["processor, spending, dispute, dispute won", 0, 0],
  ["processor, spending, dispute, dispute won, write-off: exceeds_debt", 0, 0],
  ["operator, spending, correction, write-off", 0, 0],
  ["operator, spending, correction, write-off, refund", 0, 0, "reported_after_correction"],
  ["operator, spending, correction, write-off, dispute, dispute won", 0, 0, "reported_after_correction"],

  // What the processor returns recovers the debt before the customer gets it.
  ["processor, spending, dispute, write-off, dispute won", 0, 0],
  ["processor, spending, dispute, dispute lost, write-off, dispute won", 0, 0],
  ["processor, spending, refund, write-off, refund failed", 0, 0],
  ["processor, spending, partial refund, write-off 50, dispute, dispute won", 0, 0],
  ["processor, dispute, refund, write-off, dispute won", 0, 0],
  ["processor, dispute, refund, write-off, dispute won, refund failed", 200, 0],
  ["processor, spending, dispute, write-off 50, dispute won", 0, 0],
  ["processor, spending, dispute, write-off, correct write-off", 0, 200],
  ["processor, spending, dispute, write-off, correct write-off, dispute won", 0, 0],
  ["processor, spending, dispute, write-off, dispute won, correct write-off: debt_recovered", 0, 0],

  // The processor reports between the request and the approval.
  ["processor, spending, dispute, request write-off, dispute won, approve: exceeds_debt", 0, 0],
  ["processor, spending, dispute, request write-off, dispute lost, approve", 0, 0],
];

const deletions: Row[] = [
  ["deletion, processor: conflicting", 0, 0, "account_deleted"],
  ["deletion, operator: unknown_wallet", 0, 0],
  ["deletion, refund: not_credited", 0, 0],
  ["deletion, refund with payment: not_credited", 0, 0, "account_deleted"],

  // The balance is forfeited.
  ["processor, deletion", 0, 0],
  ["processor, deletion, processor: repeated", 0, 0],
  ["operator, deletion, processor: repeated", 0, 0],
  ["processor, deletion, operator: repeated", 0, 0],
  ["operator, deletion, correction", 0, 200],
  ["operator, correction, deletion, processor: repeated", 0, 0, "reported_after_correction"],
  ["operator, correction, deletion, refund", 0, 0, "reported_after_correction"],
  ["operator, request correction, deletion, approve", 0, 200],

  ["processor, deletion, refund", 0, 200, "account_deleted"],
  ["processor, deletion, partial refund", 0, 50, "account_deleted"],
  ["processor, deletion, dispute", 0, 200, "account_deleted"],
  ["processor, deletion, dispute, dispute won", 0, 0, "account_deleted"],
  ["processor, dispute, deletion, dispute won", 200, 0, "account_deleted"],
  ["processor, dispute, deletion, dispute lost", 0, 0],
  ["processor, refund, deletion, refund failed", 200, 0, "account_deleted"],
  ["processor, spending, deletion, refund", 0, 200, "account_deleted"],
  ["processor, spending, deletion, dispute", 0, 200, "account_deleted"],
  ["processor, spending, dispute, deletion, dispute won", 0, 0],
  ["processor, spending, dispute, deletion, write-off", 0, 0],
  ["processor, spending, dispute, write-off, deletion, dispute won", 0, 0],
  ["processor, spending, dispute, request write-off, deletion, approve", 0, 0],
];

test("a payment is taken back once, by an operator or by the processor", () => assertRows(corrections));
test("a payment is credited once, by an operator or by the processor", () => assertRows(credits));
test("money that the processor returns recovers debt that was written off", () => assertRows(writeOffs));
test("nothing is credited after the account was deleted, and a person is notified", () => assertRows(deletions));
test("refunds and disputes take and return what they report, in any order", () => assertRows(refundsAndDisputes));

/** Every row ends with a full reconciliation, which must be clean. */
async function assertRows(rows: readonly Row[]): Promise<void> {
  const actual: unknown[] = [];
  for (const [steps] of rows) {
    const wallet = await PaidWallet.create();
    const taken: string[] = [];
    for (const step of steps.split(", ")) taken.push(await wallet.run(step));
    const { balance, owed, notices } = await wallet.readState();
    actual.push([taken.join(", "), balance, owed, notices, await listDifferences()]);
  }
  const expected = rows.map(([steps, balance, owed, notices = ""]) => [steps, balance, owed, notices, []]);
  assert.deepEqual(actual, expected);
}

async function listDifferences(): Promise<string[]> {
  const { checks } = await reconcile(database.owner);
  return checks.filter(({ differing }) => differing > 0).map(({ name }) => name);
}

type Adjustment = Pick<AdjustmentRequest, "kind" | "reference" | "amount">;

class PaidWallet {
  readonly #walletId: string;
  readonly #topUpId: string;
  /** The adjustment that is waiting for approval. */
  #requested = "";

  private constructor(walletId: string, topUpId: string) {
    this.#walletId = walletId;
    this.#topUpId = topUpId;
  }

  static async create(): Promise<PaidWallet> {
    const { walletId } = await seedWallet(database.owner);
    const request = { amount, keyHmac: randomBytes(32), fingerprint: randomBytes(32) };
    return new PaidWallet(walletId, (await beginTopUp(database.tenant, walletId, request)).id);
  }

  /** Returns the step as it is written in the table. */
  async run(step: string): Promise<string> {
    const [name = ""] = step.split(": ");
    const { act, succeeds } = this.#actions[name] ?? assert.fail(name);
    const outcome = await act();
    return outcome === succeeds ? name : `${name}: ${outcome}`;
  }

  async readState(): Promise<{ balance: number; owed: number; notices: string }> {
    const { rows } = await database.owner.query<{ balance: number; owed: number; notices: string }>(
      `select ((credited_micros - debited_micros) / 1000000)::integer as balance, (owed_micros / 1000000)::integer as owed,
         coalesce((
           select string_agg(n.reason, ' ' order by n.reason) from pb.payment_notices n where n.wallet_id = w.id and closed_at is null
         ), '') as notices
       from pb.wallets w where id = $1`,
      [this.#walletId],
    );
    return rows[0] ?? assert.fail("no such wallet");
  }

  readonly #actions: Record<string, { act: () => Promise<string>; succeeds: string }> = {
    operator: { act: () => this.#credit(), succeeds: "credited" },
    "request operator": { act: () => this.#requestCredit(), succeeds: "requested" },
    processor: { act: () => bookPayment(database.payments, this.#walletId, this.#payment), succeeds: "credited" },
    correction: { act: async () => this.#adjust(await this.#correction()), succeeds: "booked" },
    "request correction": { act: async () => this.#request(await this.#correction()), succeeds: "requested" },
    approve: { act: () => this.#decide(this.#requested, true), succeeds: "booked" },
    reject: { act: () => this.#decide(this.#requested, false), succeeds: "rejected" },
    "write-off": { act: () => this.#adjust(this.#writeOff(amount)), succeeds: "booked" },
    "write-off 50": { act: () => this.#adjust(this.#writeOff(50n * usd)), succeeds: "booked" },
    "request write-off": { act: () => this.#request(this.#writeOff(amount)), succeeds: "requested" },
    "correct write-off": { act: async () => this.#adjust(await this.#correctionOfWriteOff()), succeeds: "booked" },
    deletion: { act: () => this.#delete(), succeeds: "deleted" },
    spending: { act: () => this.#adjust({ kind: "payout", reference: randomUUIDv7(), amount }), succeeds: "booked" },
    refund: { act: () => this.#reverse("refund", "taken"), succeeds: "taken" },
    "refund failed": { act: () => this.#reverse("refund", "returned"), succeeds: "returned" },
    "refund with payment": { act: () => this.#reverse("refund", "taken", true), succeeds: "taken" },
    "partial refund": { act: () => this.#reverse("partial", "taken"), succeeds: "taken" },
    dispute: { act: () => this.#reverse("dispute", "taken"), succeeds: "taken" },
    "dispute won": { act: () => this.#reverse("dispute", "returned"), succeeds: "returned" },
    "dispute lost": { act: () => this.#reverse("dispute", "lost"), succeeds: "lost" },
  };

  get #payment() {
    return { paymentId: `pi_${this.#walletId}`, topUpId: this.#topUpId, amount, receiptUrl: null };
  }

  async #credit(): Promise<string> {
    const outcome = await this.#requestCredit();
    if (outcome !== "requested") return outcome;
    return (await this.#decide(this.#requested, true)) === "booked" ? "credited" : "refused";
  }

  async #requestCredit(): Promise<string> {
    const credit = { kind: "payment", reference: this.#payment.paymentId, walletId: this.#walletId, amount } as const;
    const requested = await creditManually(database.operator, { ...credit, operator: "ada", reason: "a test" });
    this.#requested = requested.adjustmentId ?? "";
    return requested.outcome;
  }

  async #correction(): Promise<Adjustment> {
    const { rows } = await database.owner.query<{ id: string }>(
      "select transfer_id as id from pb.payments where payment_id = $1",
      [this.#payment.paymentId],
    );
    return { kind: "correction", reference: rows[0]?.id ?? assert.fail("no payment") };
  }

  async #delete(): Promise<string> {
    const remove = async (): Promise<{ outcome: string; adjustment: string }> => {
      const { rows } = await database.owner.query<{ outcome: string; adjustment: string }>(
        `select outcome, adjustment_id as adjustment from pb.operator_delete_account(
           'ada', 'a test', (select account_id from pb.wallets where id = $1), true
         )`,
        [this.#walletId],
      );
      return rows[0] ?? assert.fail("no outcome");
    };
    const { outcome, adjustment } = await remove();
    if (outcome !== "requested") return outcome;
    // Forfeiting the balance needs a second operator.
    assert.equal(await this.#decide(adjustment, true), "booked");
    return (await remove()).outcome;
  }

  #writeOff(micros: Micros): Adjustment {
    return { kind: "write_off", reference: `write-off ${this.#walletId}`, amount: micros };
  }

  async #correctionOfWriteOff(): Promise<Adjustment> {
    const { rows } = await database.owner.query<{ id: string }>(
      "select transfer_id as id from pb.adjustments where kind = 'write_off' and wallet_id = $1",
      [this.#walletId],
    );
    return { kind: "correction", reference: rows[0]?.id ?? assert.fail("no write-off") };
  }

  async #adjust(request: Adjustment): Promise<string> {
    const { outcome, id } = await requestAdjustment(database.operator, this.#byAda(request));
    return outcome === "requested" ? this.#decide(id ?? "", true) : outcome;
  }

  async #request(request: Adjustment): Promise<string> {
    const { outcome, id } = await requestAdjustment(database.operator, this.#byAda(request));
    this.#requested = id ?? "";
    return outcome;
  }

  #byAda(request: Adjustment): AdjustmentRequest {
    return { operator: "ada", reason: "a test", walletId: this.#walletId, ...request };
  }

  #decide(id: string, isApproved: boolean): Promise<string> {
    return decideAdjustment(database.operator, { operator: "bob", reason: "a test", id, isApproved });
  }

  #reverse(what: "refund" | "partial" | "dispute", state: Reversal["state"], isPaid = false): Promise<string> {
    const reversal: Reversal = {
      id: `${what} ${this.#walletId}`,
      kind: what === "dispute" ? "dispute" : "refund",
      amount: what === "partial" ? 50n * usd : amount,
      state,
    };
    const payment = { id: this.#payment.paymentId, ...(isPaid && { paid: this.#payment }) };
    return reversePayment(database.payments, this.#walletId, payment, reversal);
  }
}
