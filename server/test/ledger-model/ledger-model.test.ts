import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { parseArgs } from "node:util";
import { priceMicros } from "../../src/lib/money.ts";
import { expireHolds } from "../../src/wallet/statements.ts";
import { fc } from "../support/data/fast-check.ts";
import { seed } from "../support/data/seed.ts";
import { createTestDatabase, type TestDatabase } from "../support/services/database.ts";
import { LedgerFixture } from "./ledger-fixture.ts";
import { type Action, type FixturePlan, keyKinds } from "./plans.ts";

// Applies random histories to PostgreSQL and to the model. `npm run check` repeats the same histories, `npm run check:all` draws
// new ones. To run more, or to repeat a failure:
//
//   npm run test:model -- --runs=10000
//   PENNYBLACK_TEST_SEED=1234 npm run test:model -- --runs=2000

const { values } = parseArgs({ options: { runs: { type: "string" } }, strict: false });

let database: TestDatabase;
const outcomes = new Map<string, number>();
let histories = 0;

before(async () => {
  database = await createTestDatabase();
  // Durability is not tested here, and without waiting for fsync there is time for more histories.
  await database.owner.query(`alter database ${database.name} set synchronous_commit = off`);
});

after(() => database.drop());

test("a batch decides like its items one by one, and every row matches the model", async (t) => {
  const numRuns = values.runs === undefined ? 120 : Number(values.runs);
  t.diagnostic(`seed ${seed}, ${numRuns} runs`);
  await fc.assert(
    fc.asyncProperty(fixturePlan, fc.array(action, { minLength: 1, maxLength: 25, size: "max" }), runHistory),
    { numRuns },
  );
  t.diagnostic(`${histories} histories: ${JSON.stringify(Object.fromEntries(outcomes))}`);
  // An outcome that did not occur was not tested.
  assert.deepEqual(
    expectedOutcomes.filter((outcome) => !outcomes.has(outcome)),
    [],
  );
});

async function runHistory(plan: FixturePlan, actions: Action[]): Promise<void> {
  const firstDay = await today();
  const fixture = new LedgerFixture(database, outcomes);
  try {
    await fixture.seed(plan);
    for (const each of actions) await fixture.apply(each);
    await fixture.end();
    histories += 1;
  } catch (error) {
    // The sweeper of the next history must find only its own holds.
    await database.owner.query(
      "update pb.searches set expires_at = clock_timestamp() - interval '1 second' where state = 'pending'",
    );
    await expireHolds(database.owner, 10_000);
    // A history that ran across midnight counts some holds on a different day than the model.
    if ((await today()) === firstDay) throw error;
  }
}

async function today(): Promise<string | undefined> {
  const { rows } = await database.owner.query<{ day: string }>("select pb.utc_day(clock_timestamp())::text as day");
  return rows[0]?.day;
}

const expectedOutcomes = Object.entries({
  hold:
    "held replayed lost id_taken clock_skewed api_key_invalid api_key_revoked api_key_expired account_suspended " +
    "idempotency_in_progress idempotency_key_reused insufficient_balance balance_reserved key_budget_spent " +
    "run_budget_spent end_user_budget_spent end_user_required",
  capture: "captured released expired unknown",
  release: "captured released expired unknown",
  refund: "refunded repeated not_captured",
  "top up": "credited repeated conflicting unknown_wallet",
  reverse: "taken returned repeated not_credited",
})
  .flatMap(([action, names]) => names.split(" ").map((name) => `${action}: ${name}`))
  .concat(
    "seen: took over",
    "seen: replaced a window",
    "seen: joined a new run",
    "seen: shared a window",
    "seen: not warned again",
    "seen: raise ended",
    "seen: returned too late for a window",
  );

const wallet = fc.nat(2);
const search = fc.nat(24);
const mode = fc.constantFrom("live" as const, "test" as const);
const rarely = fc.integer({ min: 0, max: 15 }).map((draw) => draw === 15);
const prices = (max: number): fc.Arbitrary<bigint> => fc.nat(max).map((count) => BigInt(count) * priceMicros);
const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined, freq: 2 });
const limits = fc.record({
  total: maybe(prices(12)),
  day: maybe(prices(6)),
  month: maybe(prices(9)),
  end_user: maybe(prices(4)),
});

const key = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom("plain" as const, "budgeted" as const, "rotated" as const) },
  { weight: 3, arbitrary: fc.constant("sharing" as const) },
  { weight: 3, arbitrary: fc.constant("test" as const) },
  { weight: 3, arbitrary: fc.constant("budgeted test" as const) },
  { weight: 1, arbitrary: fc.constantFrom(...keyKinds) },
);

const holdPlan = fc.record({
  search,
  isForeignId: rarely,
  wallet,
  key,
  isForeignKey: rarely,
  idempotency: maybe(fc.record({ key: fc.nat(1), body: fc.nat(4).map((draw) => (draw === 4 ? 1 : 0)) })),
  run: maybe(fc.record({ name: fc.nat(1), max: prices(5) })),
  endUser: maybe(fc.nat(1)),
});

/** A new id with only a wallet and a key, like most searches. */
const plainHoldPlan = fc.record({
  search: fc.integer({ min: 100, max: 100_000 }),
  isForeignId: fc.constant(false),
  wallet,
  key: fc.oneof(
    { weight: 30, arbitrary: fc.constant("plain" as const) },
    { weight: 6, arbitrary: fc.constant("test" as const) },
    { weight: 1, arbitrary: fc.constantFrom(...keyKinds) },
  ),
  isForeignKey: fc.constant(false),
  idempotency: fc.constant(undefined),
  run: fc.constant(undefined),
  endUser: maybe(fc.nat(1)),
});

const settlePlan = fc.record({ search: fc.nat(99), isUnknown: rarely, isForeignWallet: rarely });
const batch = <T>(item: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc.array(item, { minLength: 1, maxLength: 12, size: "max" });
const topUpPlan = fc.record({
  payment: fc.nat(5),
  wallet: fc.nat(3),
  amount: fc.integer({ min: 1, max: 4 }).map((halves) => (BigInt(halves) * priceMicros) / 2n),
});

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ do: fc.constant("hold" as const), items: batch(holdPlan) }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant("hold" as const), items: batch(plainHoldPlan) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("capture" as const), items: batch(settlePlan) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("release" as const), items: batch(settlePlan) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("refund" as const), items: batch(settlePlan) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("top up" as const),
      kind: fc.constantFrom("top_up" as const, "credit" as const),
      items: batch(topUpPlan),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("reverse" as const),
      // Also the first payment of each wallet.
      payment: fc.oneof(
        fc.nat(5),
        fc.nat(2).map((index) => 1_000 + index),
      ),
      state: fc.constantFrom("taken" as const, "taken" as const, "returned" as const),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom("expire" as const, "next day" as const, "next week" as const, "next month" as const),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("make overdue" as const),
      searches: fc.array(fc.nat(99), { minLength: 1, maxLength: 12, size: "max" }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("age claims" as const),
      wallet,
      age: fc.constantFrom("stale" as const, "stale" as const, "expired" as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("end run" as const), wallet, mode, name: fc.nat(1) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("revoke" as const), wallet, key: fc.constantFrom(...keyKinds) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("suspend" as const), wallet, isSuspended: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("set limits" as const), wallet, mode, limits }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("set budget" as const),
      wallet,
      kind: fc.constantFrom("week" as const, "end_user" as const),
      amount: prices(8),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("raise budget" as const),
      wallet,
      amount: prices(8).map((micros) => micros + priceMicros),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("end raise" as const), wallet }) },
);

const fixturePlan: fc.Arbitrary<FixturePlan> = fc.record({
  wallets: fc.array(
    fc.record({ credit: prices(12), limits, shared: fc.record({ week: prices(8), end_user: prices(4) }) }),
    {
      minLength: 3,
      maxLength: 3,
    },
  ),
});
