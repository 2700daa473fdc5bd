import { randomUUIDv7 } from "node:crypto";
import type { Pool } from "../server/src/db/pool.ts";
import { createKey, type Pepper } from "../server/src/keys/keys.ts";

export interface SeededYear {
  walletId: string;
  managementKey: string;
  /** Midnight UTC. The year ends at the start of today. */
  from: Date;
  to: Date;
  /** The busiest day of the other wallets. */
  busyDay: Date;
  searches: number;
}

const dayMs = 86_400_000;
const days = 365;

/**
 * Seeds a year of settled searches: one wallet with four live keys and a test key, a fifth as many searches in a hundred
 * other wallets, and one day with another fifth in two thousand wallets. Seeds no transfers or balances.
 */
export async function seedYear(owner: Pool, pepper: Pepper, searches: number): Promise<SeededYear> {
  const to = new Date(Math.floor(Date.now() / dayMs) * dayMs);
  const from = new Date(to.getTime() - days * dayMs);
  const busyDay = new Date(to.getTime() - 200 * dayMs);
  const walletId = randomUUIDv7();
  await owner.query("insert into pb.wallets (id, name) values ($1, 'bench')", [walletId]);
  const keyIds: string[] = [];
  for (const name of ["a", "b", "c", "d"]) {
    keyIds.push((await createKey(owner, pepper, { walletId, mode: "live", name })).id);
  }
  keyIds.push((await createKey(owner, pepper, { walletId, mode: "test", name: "e" })).id);
  const management = await createKey(owner, pepper, { walletId, mode: "mgmt", name: "management" });

  await owner.query("select pb.make_partitions(pb.utc_day($1) - 1, pb.utc_day($2))", [from, to]);
  const [perDay, othersPerDay] = [Math.ceil(searches / days), Math.ceil(searches / 5 / days)];
  const otherWallets = { few: makeIds(100), many: makeIds(2_000) };
  for (let at = from.getTime(); at < to.getTime(); at += dayMs) {
    const day = new Date(at);
    await seedDay(owner, { day, searches: perDay, walletIds: [walletId], keyIds });
    const isBusy = at === busyDay.getTime();
    await seedDay(owner, {
      day,
      searches: isBusy ? Math.ceil(searches / 5) : othersPerDay,
      walletIds: isBusy ? otherWallets.many : otherWallets.few,
      keyIds: otherWallets.few,
    });
    if (day.getUTCDate() === 1) console.error(`seeded up to ${day.toISOString().slice(0, 10)}`);
  }
  await seedRejections(owner, { walletId, keyIds, from, to });
  // The nightly vacuum would do this. Without it, BRIN indexes are not summarized.
  await owner.query("vacuum analyze pb.searches");
  return { walletId, managementKey: management.key, from, to, busyDay, searches: perDay * days };
}

function makeIds(count: number): string[] {
  return Array.from({ length: count }, () => randomUUIDv7());
}

interface SeedDayOptions {
  day: Date;
  searches: number;
  walletIds: readonly string[];
  /** The wallet's keys, or random ids. The fifth is a test key. */
  keyIds: readonly string[];
}

/** Inserts searches in time order. One in thirty fails. */
async function seedDay(owner: Pool, { day, searches, walletIds, keyIds }: SeedDayOptions): Promise<void> {
  await owner.query(
    `insert into pb.searches
       (id, wallet_id, key_id, mode, price_micros, state, held_at, expires_at, settled_at, category, outcome)
     select
       (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || left(noise, 3) || '8' || right(noise, 15))::uuid,
       ($4::uuid[])[1 + n % cardinality($4::uuid[])], ($5::uuid[])[1 + key], mode::pb.key_mode,
       case mode when 'live' then 10000 else 0 end, state::pb.search_state, at, at + interval '1 minute', at,
       (array['programming', 'research', 'gov', 'business'])[1 + (chance * 7000)::integer % 7],
       case when state = 'released' then
         (array['upstream_error', 'upstream_unreachable', 'upstream_invalid_response', 'caller_left'])[1 + n % 4] end
     from generate_series(0, $2::integer - 1) n,
       lateral (select $1::timestamptz + n * (interval '1 day' / $2::integer) as at, md5($3::text || n) as noise, random() as chance) a,
       lateral (select (chance * 1e6)::integer % least(cardinality($5::uuid[]), 5) as key) b,
       lateral (select case key when 4 then 'test' else 'live' end as mode, case
         when chance < 0.03 then 'released' when chance < 0.033 then 'expired' else 'captured' end as state) c`,
    [day, searches, randomUUIDv7(), walletIds, keyIds],
  );
}

/** Two kinds of rejected requests in every hour of the year, for each live key. */
async function seedRejections(
  owner: Pool,
  { walletId, keyIds, from, to }: { walletId: string; keyIds: readonly string[]; from: Date; to: Date },
): Promise<void> {
  await owner.query(
    `with refusals as (
       select hour, key_id, outcome from generate_series($3::timestamptz, $4::timestamptz - interval '1 hour', interval '1 hour') hour,
         unnest($2::uuid[]) key_id, unnest(array['rate_limited', 'invalid_request']) outcome
     ), hours as (
       insert into pb.usage_hours select $1, hour, key_id, 'live', '', outcome, false, 3, 0 from refusals
     )
     insert into pb.usage_days
     select $1, pb.utc_day(hour), key_id, 'live', '', outcome, false, 3 * count(*), 0 from refusals group by 2, 3, 6`,
    [walletId, keyIds.slice(0, 4), from, to],
  );
}
