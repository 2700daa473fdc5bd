import assert from "node:assert/strict";
import { randomBytes, randomUUIDv7 } from "node:crypto";
import { test } from "node:test";
import { createDatabase } from "../../test/fixture.ts";
import { seedKey, seedKeyLimits, seedWallet } from "../../test/support/data/seed-wallet.ts";
import { priceMicros } from "../lib/money.ts";
import { captureBatch, type HoldOutcome, type HoldRequest, holdBatch, type IdempotencyClaim } from "./statements.ts";

// Searches that are new and certain to be held take a short path in pb.hold. A batch that is marked as sent before never does,
// so sending the same batch both ways compares the two.

const { owner, ledger } = await createDatabase();

type Seed = Awaited<ReturnType<typeof seedWallet>>;
type Part = Partial<HoldRequest>;

const newClaim = (): IdempotencyClaim => ({ keyHmac: randomBytes(32), fingerprint: randomBytes(32) });
const toRequest = (seed: Seed, part: Part): HoldRequest => ({ searchId: randomUUIDv7(), ...seed, ...part });
const ageClaims = (seed: Seed, age: string) =>
  owner.query("update pb.idempotency set claimed_at = claimed_at - $2::interval where wallet_id = $1", [
    seed.walletId,
    age,
  ]);

async function holdFirst(seed: Seed, idempotency: IdempotencyClaim): Promise<HoldRequest> {
  const first = toRequest(seed, { idempotency });
  const [result] = await holdBatch(ledger, [first]);
  assert.equal(result?.outcome, "held");
  return first;
}

/** A limit ends a fixed time after its first search. */
const withoutTimes = ({ budgets, ...result }: HoldOutcome): unknown => ({
  ...result,
  resetsAt: null,
  budgets: budgets?.map((budget) => ({ ...budget, resetsAt: null })),
});

interface Situation {
  name: string;
  credit?: bigint;
  /** The searches of one wallet in a batch, in order of arrival. */
  prepare: (seed: Seed) => Promise<Part[]>;
  outcomes: string[];
}

const situations: Situation[] = [
  {
    name: "a single search with a new Idempotency-Key is held",
    prepare: async () => [{ idempotency: newClaim() }],
    outcomes: ["held"],
  },
  {
    name: "searches with new Idempotency-Keys are held beside one without",
    prepare: async () => [{ idempotency: newClaim() }, {}, { idempotency: newClaim() }],
    outcomes: ["held", "held", "held"],
  },
  {
    name: "of three searches with one Idempotency-Key the first is held",
    prepare: async () => {
      const idempotency = newClaim();
      return [{ idempotency }, { idempotency }, { idempotency: { ...newClaim(), keyHmac: idempotency.keyHmac } }];
    },
    outcomes: ["held", "idempotency_in_progress", "idempotency_key_reused"],
  },
  {
    name: "a batch finds the claim of a search in flight",
    prepare: async (seed) => {
      const { idempotency } = await holdFirst(seed, newClaim());
      return [{}, { idempotency }];
    },
    outcomes: ["held", "idempotency_in_progress"],
  },
  {
    name: "a single search finds the claim of a search in flight",
    prepare: async (seed) => [{ idempotency: (await holdFirst(seed, newClaim())).idempotency }],
    outcomes: ["idempotency_in_progress"],
  },
  {
    name: "a single search finds a stored answer",
    prepare: async (seed) => {
      const first = await holdFirst(seed, newClaim());
      await captureBatch(ledger, [{ ...first, answer: Buffer.from("an answer") }]);
      return [{ idempotency: first.idempotency }];
    },
    outcomes: ["replayed"],
  },
  {
    name: "a single search takes over the claim of a server that stopped",
    prepare: async (seed) => {
      const { idempotency } = await holdFirst(seed, newClaim());
      await ageClaims(seed, "16 seconds");
      return [{ idempotency }];
    },
    outcomes: ["held"],
  },
  {
    name: "an answer of a day ago does not prevent a new search",
    prepare: async (seed) => {
      const first = await holdFirst(seed, newClaim());
      await captureBatch(ledger, [{ ...first, answer: Buffer.from("an answer") }]);
      await ageClaims(seed, "24 hours");
      return [{ idempotency: first.idempotency }, { idempotency: newClaim() }];
    },
    outcomes: ["held", "held"],
  },
  {
    name: "of two searches one is held if there is money for one",
    credit: priceMicros,
    prepare: async () => [{ idempotency: newClaim() }, { idempotency: newClaim() }],
    outcomes: ["held", "balance_reserved"],
  },
  {
    name: "a test search is held beside a live one that spends the last cent",
    credit: priceMicros,
    prepare: async (seed) => [
      { keyId: await seedKey(owner, seed.walletId, { mode: "test" }), idempotency: newClaim() },
      { idempotency: newClaim() },
    ],
    outcomes: ["held", "held"],
  },
  {
    name: "a key with a spent limit is refused, and another key of the wallet is not",
    prepare: async (seed) => {
      const limitsId = await seedKeyLimits(owner, seed.walletId, { total: priceMicros });
      const keyId = await seedKey(owner, seed.walletId, { limitsId });
      return [{ keyId, idempotency: newClaim() }, { idempotency: newClaim() }, { keyId, idempotency: newClaim() }];
    },
    outcomes: ["held", "held", "key_budget_spent"],
  },
  {
    name: "a single search with an expired key is refused",
    prepare: async (seed) => [
      { keyId: await seedKey(owner, seed.walletId, { isExpired: true }), idempotency: newClaim() },
    ],
    outcomes: ["api_key_expired"],
  },
  {
    name: "a run ends with its budget",
    prepare: async () => {
      const run = { name: "a run", maxMicros: priceMicros, ttlSeconds: 60 };
      return [{ run, idempotency: newClaim() }, { run }];
    },
    outcomes: ["held", "run_budget_spent"],
  },
];

/** The rows that the batch wrote, without ids and times. */
async function readState({ walletId }: Seed): Promise<unknown> {
  const { rows } = await owner.query(
    `select w.held_micros, w.debited_micros,
       (select array_agg(concat_ws(' ', s.mode, s.state, c.search_id is not null) order by s.mode, s.state, c.search_id is not null)
        from pb.searches s left join pb.idempotency c on c.search_id = s.id and c.key_hmac = s.idempotency_hmac
          and c.wallet_id = s.wallet_id and c.mode = s.mode
        where s.wallet_id = w.id) as searches,
       (select count(*) from pb.idempotency c where c.wallet_id = w.id) as claims
     from pb.wallets w where w.id = $1`,
    [walletId],
  );
  return rows[0];
}

async function prepare({
  credit,
  prepare: prepareParts,
}: Omit<Situation, "name">): Promise<{ seed: Seed; items: HoldRequest[] }> {
  const seed = await seedWallet(owner, { credit: credit ?? 10n * priceMicros });
  const parts = await prepareParts(seed);
  return { seed, items: parts.map((part) => toRequest(seed, part)) };
}

for (const { name, ...situation } of situations) {
  test(`${name}: the short path gives the same results`, async () => {
    const [short, long] = [await prepare(situation), await prepare(situation)];
    const [shortResults, longResults] = [
      await holdBatch(ledger, short.items, false),
      await holdBatch(ledger, long.items, true),
    ];
    assert.deepEqual(
      shortResults.map(({ outcome }) => outcome),
      situation.outcomes,
    );
    assert.deepEqual(shortResults.map(withoutTimes), longResults.map(withoutTimes));
    assert.deepEqual(await readState(short.seed), await readState(long.seed));
  });
}

test("a wallet that needs decisions does not change the results of others in its batch", async () => {
  const prepared = await Promise.all(situations.map(prepare));
  const items = prepared.flatMap((each) => each.items);
  const results = await holdBatch(ledger, items, false);
  assert.deepEqual(
    results.map(({ outcome }) => outcome),
    situations.flatMap(({ outcomes }) => outcomes),
  );
  for (const [index, { seed }] of prepared.entries()) {
    const alone = await prepare(situations[index] as Situation);
    await holdBatch(ledger, alone.items, true);
    assert.deepEqual(await readState(seed), await readState(alone.seed));
  }
});
