import { asTenant } from "../db/as-tenant.ts";
import type { Pool, Queryable } from "../db/pool.ts";
import { firstIdOf } from "../lib/first-id-of.ts";
import type { Micros } from "../lib/money.ts";
import { beyondNewest } from "./read-wallet.ts";

// What became of each search. The table has no index by wallet, since every search would pay for it: what was charged is
// found by its entry, what was not by its outcome, and test searches by an index of theirs (0019_reads.sql). A search in
// flight is in none of them.

export interface SearchView {
  id: string;
  mode: "live" | "test";
  keyId: string;
  keyName: string | null;
  category: string | null;
  /** `ok`, `pending`, or why it was not charged. */
  outcome: string;
  charged: Micros;
  heldAt: Date;
  /** From hold to settlement. */
  ms: number | null;
  /** The name of its run, while the run is remembered. */
  run: string | null;
}

export interface SearchesWanted {
  mode?: "live" | "test" | undefined;
  keyId?: string | undefined;
  /** `ok`, `failed` for all others, or one of those. */
  outcome?: string | undefined;
  before?: string | undefined;
  most: number;
}

export interface SearchPage {
  searches: SearchView[];
  /** No search sent before this moment is listed. */
  since: Date;
  /** Where the next page begins; undefined if there is none. */
  next: string | undefined;
}

/** How many searches a page looks at for those it was asked for: a rare one must not be looked for without end. */
const mostLookedAt = 5_000;

/** Those that have ended, newest first. A narrowed page may be short, even empty, and yet not be the last. */
export async function readSearches(pool: Pool, walletId: string, wanted: SearchesWanted): Promise<SearchPage> {
  const { mode, keyId, outcome, most } = wanted;
  // What the sources themselves tell apart; all else is looked for among their searches.
  const isTold = outcome === undefined || (mode === "live" && (outcome === "ok" || outcome === "failed"));
  const isNarrow = keyId !== undefined || !isTold;
  const looks = isNarrow ? mostLookedAt : most + 1;
  return asTenant(pool, walletId, async (db) => {
    const since = await readSince(db);
    const { rows } = await db.query<PageRow>(
      `with candidates as materialized (${newestIds(wanted)})
       select e.looked, e.last, r.*
       from (select count(*)::integer as looked, (select id from candidates order by id limit 1) as last
         from candidates) e
       left join lateral (
         select ${columns} from candidates c
         ${eachSearch} ${itsNames}
         where s.state <> 'pending' and ($5::uuid is null or s.key_id = $5)
           and case $6::text when 'failed' then s.state <> 'captured' else $6 is null or ${outcomeOf} = $6 end
         order by s.id desc limit $7
       ) r on true`,
      [walletId, wanted.before ?? beyondNewest(), firstIdOf(since), looks, keyId ?? null, outcome ?? null, most + 1],
    );
    const [first] = rows;
    const found = rows.filter((row) => row.id !== null).map(toView);
    const searches = found.slice(0, most);
    // More was found than fits, or the page stopped looking before the end.
    const isCut = found.length > most;
    const stopped = first !== undefined && first.looked === looks ? (first.last ?? undefined) : undefined;
    return { searches, since, next: isCut ? searches.at(-1)?.id : stopped };
  });
}

/** One search of the wallet, in flight or ended. Undefined if the request never became one. */
export async function readSearch(pool: Pool, walletId: string, id: string): Promise<SearchView | undefined> {
  const { rows } = await asTenant(pool, walletId, (db) =>
    db.query<SearchRow>(`select ${columns} from pb.searches s ${itsNames} where s.wallet_id = $1 and s.id = $2`, [
      walletId,
      id,
    ]),
  );
  return rows[0] && toView(rows[0]);
}

export interface RecentHour {
  start: Date;
  searches: number;
  ok: number;
  charged: Micros;
}

export interface RecentSearches {
  /** By the hour they were held in. Undefined if they are too many to be counted in passing. */
  hours: RecentHour[] | undefined;
  /** From hold to settlement, of the latest thousand that were answered in the last 24 hours. */
  p50: number | null;
  p95: number | null;
}

const mostCounted = 5_000;

/** What has ended since a moment and may not be in the counts yet. Inside a transaction of the wallet's. */
export async function readRecentSearches(
  db: Queryable,
  walletId: string,
  { mode, since }: { mode: "live" | "test"; since: Date },
): Promise<RecentSearches> {
  // An id is of a server's clock, a hold of the database's: a minute for the two to differ.
  const firstId = firstIdOf(new Date(since.getTime() - 60_000));
  const counted = await db.query<RecentHour & { looked: number }>(
    `with candidates as materialized (${newestIds({ mode })})
     select date_trunc('hour', s.held_at, 'utc') as start, (select count(*)::integer from candidates) as looked,
       count(*)::integer as searches, count(*) filter (where s.state = 'captured')::integer as ok,
       coalesce(sum(s.price_micros) filter (where s.state = 'captured'), 0)::bigint as charged
     from candidates c ${eachSearch} where s.held_at >= $5 and s.state <> 'pending' group by 1`,
    [walletId, beyondNewest(), firstId, mostCounted, since],
  );
  const timed = await db.query<{ p50: number | null; p95: number | null }>(
    `with candidates as materialized (${newestIds({ mode, outcome: "ok" })})
     select percentile_disc(0.5) within group (order by ${msOf}) as p50,
       percentile_disc(0.95) within group (order by ${msOf}) as p95
     from candidates c ${eachSearch} where s.state = 'captured'`,
    [walletId, beyondNewest(), firstIdOf(new Date(Date.now() - 86_400_000)), 1_000],
  );
  const isTooMany = counted.rows[0]?.looked === mostCounted;
  return {
    hours: isTooMany ? undefined : counted.rows,
    p50: timed.rows[0]?.p50 ?? null,
    p95: timed.rows[0]?.p95 ?? null,
  };
}

async function readSince(db: Queryable): Promise<Date> {
  const { rows } = await db.query<{ since: Date }>("select pb.searches_listed_since() as since");
  return rows[0]?.since ?? new Date(0);
}

/** The ids of the newest $4 of wallet $1 below $2 and from $3 on; of test searches also those in flight. */
function newestIds({ mode, outcome }: Pick<SearchesWanted, "mode" | "outcome">): string {
  const paid = `select id from pb.transfers
    where wallet_id = $1 and kind = 'capture' and id < $2 and id >= $3 order by id desc limit $4`;
  const sources = [
    ...(mode === "test" || (outcome !== undefined && outcome !== "ok") ? [] : [paid]),
    ...(mode === "test" || outcome === "ok" ? [] : ["select id from pb.own_search_ids('live', $2, $3, $4) id"]),
    ...(mode === "live" ? [] : ["select id from pb.own_search_ids('test', $2, $3, $4) id"]),
  ];
  return `select id from (${sources.map((source) => `(${source})`).join(" union all ")}) newest order by id desc limit $4`;
}

// "offset 0" keeps this a look-up per candidate; as a plain join it may become a walk through all the days.
const eachSearch = `cross join lateral (
  select f.id, f.wallet_id, f.key_id, f.mode, f.state, f.price_micros, f.held_at, f.settled_at, f.run_budget_id,
    f.category, f.outcome
  from pb.searches f where f.id = c.id and f.wallet_id = $1 and f.id < $2 and f.id >= $3 offset 0
) s`;
const itsNames = "left join pb.keys k on k.id = s.key_id left join pb.run_budgets b on b.id = s.run_budget_id";
const outcomeOf = `case s.state when 'captured' then 'ok' when 'released' then coalesce(s.outcome, 'released')
  else s.state::text end`;
const msOf = "round(extract(epoch from s.settled_at - s.held_at) * 1000)::integer";
const columns = `s.id, s.mode, s.key_id as "keyId", k.name as "keyName", s.category, ${outcomeOf} as outcome,
  case s.state when 'captured' then s.price_micros else 0 end as charged, s.held_at as "heldAt", ${msOf} as ms, b.name as run`;

type SearchRow = SearchView;
type PageRow = { [Name in keyof SearchView]: SearchView[Name] } & { looked: number; last: string | null };

function toView({ id, mode, keyId, keyName, category, outcome, charged, heldAt, ms, run }: SearchRow): SearchView {
  return { id, mode, keyId, keyName, category, outcome, charged, heldAt, ms, run };
}
