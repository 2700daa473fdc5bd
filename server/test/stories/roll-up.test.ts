import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { before, test } from "node:test";
import pg from "pg";
import { createPool } from "../../src/db/pool.ts";
import { recountUsage, rollUpUsage } from "../../src/usage/roll-up.ts";
import { createDatabase } from "../fixture.ts";
import { fc } from "../support/data/fast-check.ts";
import { uuidOf } from "../support/data/uuid-of.ts";

const db = await createDatabase();
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
// Midnight, two days ago.
const start = Math.floor(Date.now() / dayMs) * dayMs - 2 * dayMs;
const wallets = [randomUUIDv7(), randomUUIDv7()];
const keys = [randomUUIDv7(), randomUUIDv7(), randomUUIDv7()];

before(async () => {
  // Hours and days are in UTC, regardless of the time zone of the database. This one has an offset of 5:45.
  const client = new pg.Client({ connectionString: db.ownerUrl });
  await client.connect();
  await client.query(`alter database ${db.name} set timezone = 'Asia/Kathmandu'`);
  await client.end();
  // Ids can be a day older than their holds.
  await db.owner.query("select pb.make_partitions(pb.utc_day(now()) - 3, pb.utc_day(now()))");
});

interface Search {
  heldAt: number;
  /** Error of the server's clock when it made the id. */
  skewMs: number;
  wallet: number;
  key: number;
  mode: "live" | "test";
  category: string | null;
  state: "captured" | "released" | "expired";
  outcome: string | null;
  /** From the hold to the end. */
  ms: number;
}

async function insert(searches: readonly (Omit<Search, "state"> & { state: string })[]): Promise<void> {
  await db.owner.query(
    `insert into pb.searches (id, wallet_id, key_id, mode, price_micros, state, held_at, expires_at, settled_at, category, outcome)
     select (s->>'id')::uuid, (s->>'wallet')::uuid, (s->>'key')::uuid, (s->>'mode')::pb.key_mode,
       case s->>'mode' when 'live' then 10000 else 0 end, (s->>'state')::pb.search_state, held_at,
       held_at + interval '1 minute',
       case when s->>'state' <> 'pending' then held_at + interval '1 ms' * (s->>'ms')::integer end, s->>'category',
       s->>'outcome'
     from jsonb_array_elements($1) s, lateral (select to_timestamp((s->>'heldAt')::float8 / 1000) as held_at) t`,
    [
      JSON.stringify(
        searches.map((search) => ({
          ...search,
          id: uuidOf(search.heldAt + search.skewMs),
          wallet: wallets[search.wallet],
          key: keys[search.key],
        })),
      ),
    ],
  );
}

/** Deletes all searches and counts, and moves the watermark to `start`. */
async function reset(): Promise<void> {
  // Not truncated, which takes longer with many partitions than to delete a few rows.
  await db.owner.query("delete from pb.searches");
  await db.owner.query("delete from pb.usage_hours");
  await db.owner.query("delete from pb.usage_days");
  await db.owner.query("delete from pb.latency_days");
  await db.owner.query("update pb.usage_watermark set counted_before = to_timestamp($1)", [start / 1_000 - 1]);
}

async function settleBefore(moment: number): Promise<void> {
  await db.owner.query("update pb.sweep_watermark set settled_before = to_timestamp($1::float8 / 1000)", [moment]);
}

type By = "hour" | "day";

/** Counts without SQL. */
function expectedCount(searches: readonly Search[], by: By, before = Number.POSITIVE_INFINITY): string[] {
  const counts = new Map<string, { searches: number; charged: number }>();
  for (const search of searches) {
    if (search.heldAt >= before) continue;
    const at = new Date(search.heldAt).toISOString();
    const outcome = search.state === "released" ? (search.outcome ?? "released") : search.state;
    const name = [
      wallets[search.wallet],
      by === "hour" ? at.slice(0, 13) : at.slice(0, 10),
      keys[search.key],
      search.mode,
      search.category ?? "",
      outcome === "captured" ? "ok" : outcome,
    ].join(" ");
    const count = counts.get(name) ?? { searches: 0, charged: 0 };
    count.searches += 1;
    if (outcome === "captured" && search.mode === "live") count.charged += 10_000;
    counts.set(name, count);
  }
  return [...counts].map(([name, { searches: times, charged }]) => `${name} ${times} ${charged}`).toSorted();
}

async function counted(by: By): Promise<string[]> {
  const { rows } = await db.owner.query<{ line: string }>(
    `select concat_ws(' ', wallet_id, ${by === "hour" ? `to_char(hour at time zone 'utc', 'YYYY-MM-DD"T"HH24')` : "day"},
       key_id, mode, category, outcome, searches, charged_micros) as line
     from pb.usage_${by}s where was_held and searches > 0`,
  );
  return rows.map(({ line }) => line).toSorted();
}

async function assertCounted(searches: readonly Search[], before?: number): Promise<void> {
  for (const by of ["hour", "day"] as const) assert.deepEqual(await counted(by), expectedCount(searches, by, before));
  assert.deepEqual(await countedTimes(), expectedTimes(searches, before), "response times of charged searches");
}

/** Of charged searches, by day and time rounded up to two digits. */
function expectedTimes(searches: readonly Search[], before = Number.POSITIVE_INFINITY): string[] {
  const charged = searches.filter(
    ({ heldAt, state, mode }) => heldAt < before && state === "captured" && mode === "live",
  );
  const upTo = new Map([0, 40, 100, 101, 1_000, 1_001].map((ms, nth) => [ms, [1, 40, 100, 110, 1_000, 1_100][nth]]));
  const lines = charged.map(({ heldAt, ms }) => `${new Date(heldAt).toISOString().slice(0, 10)} ${upTo.get(ms)}`);
  return [...Map.groupBy(lines, (line) => line)].map(([line, { length }]) => `${line} ${length}`).toSorted();
}

async function countedTimes(): Promise<string[]> {
  const { rows } = await db.owner.query<{ line: string }>(
    "select concat_ws(' ', day, up_to_ms, searches) as line from pb.latency_days where searches > 0",
  );
  return rows.map(({ line }) => line).toSorted();
}

const anyMoment = fc.oneof(
  fc.integer({ min: 0, max: 2 * dayMs - 1 }),
  // At the boundaries of hours and days, and a millisecond around them.
  fc.tuple(fc.integer({ min: 1, max: 47 }), fc.constantFrom(-1, 0, 1)).map(([hour, off]) => hour * hourMs + off),
  fc.constantFrom(dayMs - 1, dayMs, dayMs + 1),
);

const anySearch: fc.Arbitrary<Search> = fc.record({
  heldAt: anyMoment.map((offset) => start + offset),
  skewMs: fc.constantFrom(0, 0, 0, -5, 5_000, -hourMs, hourMs, dayMs - 1_000),
  wallet: fc.nat(1),
  key: fc.nat(2),
  mode: fc.constantFrom("live", "live", "test"),
  category: fc.constantFrom(null, "gov", "research"),
  state: fc.constantFrom("captured", "captured", "released", "expired"),
  outcome: fc.constantFrom(null, "upstream_error", "caller_left"),
  ms: fc.constantFrom(0, 40, 100, 101, 1_000, 1_001),
});

const signal = new AbortController().signal;

test("usage equals the count of the searches, regardless of the steps of the roll-up", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anySearch, { minLength: 1, maxLength: 60 }),
      fc.array(anyMoment, { maxLength: 6 }),
      fc.constantFrom("25 minutes", "1 hour", "5 hours", "3 days"),
      async (searches, cuts, longest) => {
        await reset();
        await insert(searches);
        for (const cut of [...cuts.toSorted((a, b) => a - b), 2 * dayMs]) {
          await settleBefore(start + cut);
          for (let isDone = false; !isDone; ) {
            const { rows } = await db.owner.query<{ is_done: boolean }>("select * from pb.roll_up_usage($1)", [
              longest,
            ]);
            isDone = rows[0]?.is_done ?? true;
          }
          await assertCounted(searches, start + cut);
        }
        assert.equal(await rollUpUsage(db.worker, signal), 0, "nothing left to count");
        assert.equal(await recountUsage(db.worker, signal), 0, "the recount agrees");
      },
    ),
    { numRuns: 25 },
  );
});

test("old counts are deleted once in a roll-up of several hours", async () => {
  await reset();
  await settleBefore(start + 2.5 * hourMs);
  await db.owner.query("insert into pb.tally_writers values ($1, 1, now() - interval '2 days')", [randomUUIDv7()]);
  const left = async (): Promise<unknown> => {
    const { rows } = await db.owner.query(
      "select is_done, (select count(*)::int from pb.tally_writers) as writers from pb.roll_up_usage('1 hour')",
    );
    return rows[0];
  };
  // The statement sees the rows as they were before it.
  assert.deepEqual(await left(), { is_done: false, writers: 1 });
  assert.deepEqual(await left(), { is_done: false, writers: 1 });
  assert.deepEqual(await left(), { is_done: true, writers: 1 });
  assert.deepEqual(await left(), { is_done: true, writers: 0 });
});

test("the recount corrects searches that appear or change behind the watermark, once", async () => {
  const anyTwo = fc.array(anySearch, { minLength: 1, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(anyTwo, anyTwo, anyTwo, async (onTime, late, pending) => {
      await reset();
      await insert(onTime);
      await insert(pending.map((search) => ({ ...search, state: "pending" })));
      await settleBefore(start + 2 * dayMs);
      await rollUpUsage(db.worker, signal);
      await assertCounted(onTime);
      await insert(late);
      await db.owner.query(
        "update pb.searches set state = 'expired', outcome = null, settled_at = now() where state = 'pending'",
      );
      const all = [...onTime, ...late, ...pending.map((search): Search => ({ ...search, state: "expired" }))];
      assert.ok((await recountUsage(db.worker, signal)) > 0);
      await assertCounted(all);
      assert.equal(await recountUsage(db.worker, signal), 0);
    }),
    { numRuns: 10 },
  );
});

async function isCounted(): Promise<boolean> {
  const { rows } = await db.owner.query<{ yes: boolean }>(
    "select u.counted_before = s.settled_before as yes from pb.usage_watermark u, pb.sweep_watermark s",
  );
  return rows[0]?.yes ?? false;
}

function manySearches(count: number): Search[] {
  return fc.sample(anySearch, count);
}

test("concurrent roll-ups and recounts count every search once", async () => {
  const searches = manySearches(3_000);
  await reset();
  await insert(searches);
  await settleBefore(start + 2 * dayMs);
  const roll = async (): Promise<number> => {
    let sum = 0;
    // A roll-up that finds the watermark locked returns immediately.
    while (!(await isCounted())) sum += await rollUpUsage(db.worker, signal);
    return sum;
  };
  const [corrected, ...sums] = await Promise.all([recountUsage(db.worker, signal), roll(), roll(), roll(), roll()]);
  assert.equal(
    sums.reduce((all, sum) => all + sum, 0),
    3_000,
  );
  assert.equal(corrected, 0);
  await assertCounted(searches);
});

test("a roll-up whose connection is closed during a statement counts every search once", async () => {
  const searches = manySearches(5_000);
  await reset();
  await insert(searches);
  await settleBefore(start + 2 * dayMs);
  const pool = createPool({ url: db.ownerUrl, name: "doomed", connections: 1, onIdleError: () => undefined });
  let cuts = 0;
  const done = new AbortController();
  const cutAll = async (): Promise<void> => {
    // Later and later, so that the last statements are nearly finished when they are cut.
    for (let polls = 1; cuts < 8 && !done.signal.aborted; polls += 1) {
      const { rowCount } = await db.owner.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where application_name = 'doomed' and datname = current_database() and state = 'active' and $1 % ($2 + 1) = 0`,
        [polls, cuts],
      );
      cuts += rowCount ?? 0;
    }
  };
  const cutting = cutAll();
  // A roll-up that finds the watermark locked by a connection that is being closed returns without an error.
  while (!(await isCounted())) await rollUpUsage(pool, signal).catch(() => undefined);
  done.abort();
  await cutting;
  await pool.end();
  assert.ok(cuts > 3, `${cuts} cuts`);
  await assertCounted(searches);
});
