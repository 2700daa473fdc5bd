import { asTenant } from "../../db/as-tenant.ts";
import type { Pool, Queryable } from "../../db/pool.ts";
import { firstIdOf } from "../../lib/first-id-of.ts";
import type { Micros } from "../../lib/money.ts";
import type { StepTimes } from "../statements.ts";
import { upperIdBound } from "./read-wallet.ts";

// Outcomes of single searches. An index on pb.searches by wallet would slow down every search, so there is none. Charged
// searches are found through pb.transfers, failed ones and test searches through partial indexes. Live searches in
// flight are in none of these.

export interface SearchView {
  id: string;
  mode: "live" | "test";
  keyId: string;
  keyName: string | null;
  category: string | null;
  /** `ok`, `pending`, or the reason it was not charged. */
  outcome: string;
  charged: Micros;
  heldAt: Date;
  /** Milliseconds from the request to settlement, or from the hold if the server did not report its steps. */
  ms: number | null;
  /** Parts of `ms`. */
  steps: SearchSteps | null;
  /** The name of its run, until the run is deleted. */
  run: string | null;
  /** As stored: a hash, or the id if the owner chose so. */
  endUser: string | null;
}

export interface SearchSteps extends StepTimes {
  /** The capture or release, and the commit of the hold. */
  ledger: number;
}

export interface SearchesQuery {
  mode?: "live" | "test" | undefined;
  keyId?: string | undefined;
  /** The forms in which an end user may be stored. */
  endUsers?: readonly string[] | undefined;
  /** `ok`, `failed` for every other outcome, or a single outcome. */
  outcome?: string | undefined;
  /** The empty string for searches without a category. */
  category?: string | undefined;
  /** Name of the run. */
  run?: string | undefined;
  /** By the time of the hold, as in usage; `to` is exclusive. */
  from?: Date | undefined;
  to?: Date | undefined;
  before?: string | undefined;
  limit: number;
}

export interface SearchPage {
  searches: SearchView[];
  /** Searches sent before this are not listed. */
  since: Date;
  /** Cursor of the next page; undefined on the last one. */
  next: string | undefined;
}

/** Searches scanned per page. Bounds the cost of a filter that matches few of them. */
const maxScanned = 5_000;

/** Finished searches, newest first. With a filter, a page can be short or empty without being the last. */
export async function readSearches(pool: Pool, walletId: string, query: SearchesQuery): Promise<SearchPage> {
  const { mode, keyId, endUsers, outcome, category, run, from, to, limit } = query;
  // newestIds() applies this filter itself. Any other filter needs a scan of its results.
  const isFilteredBySource = outcome === undefined || (mode === "live" && (outcome === "ok" || outcome === "failed"));
  const hasFilter =
    [keyId, endUsers, category, run, from, to].some((value) => value !== undefined) || !isFilteredBySource;
  const scanLimit = hasFilter ? maxScanned : limit + 1;
  return asTenant(pool, walletId, async (db) => {
    const since = await readSince(db);
    const { rows } = await db.query<PageRow>(
      `with candidates as materialized (${newestIds(query)})
       select e.scanned, e.last, r.*
       from (select count(*)::integer as scanned, (select id from candidates order by id limit 1) as last
         from candidates) e
       left join lateral (
         select ${columns} from candidates c
         ${searchLookup} ${nameJoins}
         where s.state <> 'pending' and ($5::uuid is null or s.key_id = $5)
           and ($12::text[] is null or s.end_user = any ($12))
           and case $6::text when 'failed' then s.state <> 'captured' else $6 is null or ${outcomeOf} = $6 end
           and ($8::text is null or coalesce(s.category, '') = $8) and ($9::text is null or b.name = $9)
           and ($10::timestamptz is null or s.held_at >= $10) and ($11::timestamptz is null or s.held_at < $11)
         -- Not s.id: the candidates can be sorted before they are looked up, so that the scan ends with the page.
         order by c.id desc limit $7
       ) r on true`,
      [
        walletId,
        upperBound(query),
        firstIdOf(from && from > since ? withSkew(from, -1) : since),
        scanLimit,
        keyId ?? null,
        outcome ?? null,
        limit + 1,
        category ?? null,
        run ?? null,
        from ?? null,
        to ?? null,
        endUsers ?? null,
      ],
    );
    const [first] = rows;
    const found = rows.filter((row) => row.id !== null).map(toView);
    const searches = found.slice(0, limit);
    // There is a next page if more was found than fits, or if the scan stopped at its limit.
    const isTruncated = found.length > limit;
    const scannedTo = first !== undefined && first.scanned === scanLimit ? (first.last ?? undefined) : undefined;
    return { searches, since, next: isTruncated ? searches.at(-1)?.id : scannedTo };
  });
}

/** Ids carry the server's clock, `held_at` the database's: allows a minute of skew. */
function withSkew(at: Date, direction: 1 | -1): Date {
  return new Date(Math.max(0, at.getTime() + direction * 60_000));
}

function upperBound({ before, to }: SearchesQuery): string {
  const end = to === undefined ? upperIdBound() : firstIdOf(withSkew(to, 1));
  return before !== undefined && before < end ? before : end;
}

/** One search of the wallet, in flight or finished. Undefined if the request was refused before its price was held. */
export async function readSearch(pool: Pool, walletId: string, id: string): Promise<SearchView | undefined> {
  const { rows } = await asTenant(pool, walletId, (db) =>
    db.query<SearchView>(`select ${columns} from pb.searches s ${nameJoins} where s.wallet_id = $1 and s.id = $2`, [
      walletId,
      id,
    ]),
  );
  return rows[0] && toView(rows[0]);
}

/** Searches with the same values, as in pb.usage_hours or, by end user, in pb.usage_end_users. */
export interface SearchCount {
  hour: Date;
  mode: "live" | "test";
  keyId: string;
  /** Empty without a category. */
  category: string;
  outcome: string;
  /** Null if not counted by end user. */
  endUser: string | null;
  searches: number;
  charged: Micros;
}

const maxCounted = 5_000;

/**
 * Searches finished since `since`, which the usage counts may not include yet. Undefined if there are too many to count on
 * demand. Runs in the tenant's transaction.
 */
export async function countRecentSearches(
  db: Queryable,
  walletId: string,
  { mode, since, isByEndUser = false }: { mode?: "live" | "test"; since: Date; isByEndUser?: boolean },
): Promise<SearchCount[] | undefined> {
  const firstId = firstIdOf(withSkew(since, -1));
  const { rows } = await db.query<SearchCount & { scanned: number }>(
    `with candidates as materialized (${newestIds({ mode })})
     select date_trunc('hour', s.held_at, 'utc') as hour, s.mode, s.key_id as "keyId",
       coalesce(s.category, '') as category, ${outcomeOf} as outcome,
       ${isByEndUser ? "s.end_user" : "null"} as "endUser", (select count(*)::integer from candidates) as scanned, count(*)::integer as searches,
       coalesce(sum(s.price_micros) filter (where s.state = 'captured'), 0)::bigint as charged
     from candidates c ${searchLookup} where s.held_at >= $5 and s.state <> 'pending' group by 1, 2, 3, 4, 5, 6`,
    [walletId, upperIdBound(), firstId, maxCounted, since],
  );
  return rows[0]?.scanned === maxCounted ? undefined : rows;
}

/** Milliseconds as in a search record, over the latest 1,000 successful searches of the last 24 hours. */
export interface SearchTimes {
  p50: number | null;
  p95: number | null;
}

export async function readSearchTimes(db: Queryable, walletId: string, mode: "live" | "test"): Promise<SearchTimes> {
  const { rows } = await db.query<SearchTimes>(
    `with candidates as materialized (${newestIds({ mode, outcome: "ok" })})
     select percentile_disc(0.5) within group (order by ${msOf}) as p50,
       percentile_disc(0.95) within group (order by ${msOf}) as p95
     from candidates c ${searchLookup} where s.state = 'captured'`,
    [walletId, upperIdBound(), firstIdOf(new Date(Date.now() - 86_400_000)), 1_000],
  );
  return rows[0] ?? { p50: null, p95: null };
}

async function readSince(db: Queryable): Promise<Date> {
  const { rows } = await db.query<{ since: Date }>("select pb.searches_listed_since() as since");
  return rows[0]?.since ?? new Date(0);
}

/** SQL for the newest $4 search ids of wallet $1 in [$3, $2). Test searches include those in flight. */
function newestIds({ mode, outcome }: Pick<SearchesQuery, "mode" | "outcome">): string {
  const paid = `select id from pb.transfers
    where wallet_id = $1 and kind = 'capture' and id < $2 and id >= $3 order by id desc limit $4`;
  const sources = [
    ...(mode === "test" || (outcome !== undefined && outcome !== "ok") ? [] : [paid]),
    ...(mode === "test" || outcome === "ok" ? [] : ["select id from pb.own_search_ids('live', $2, $3, $4) id"]),
    ...(mode === "live" ? [] : ["select id from pb.own_search_ids('test', $2, $3, $4) id"]),
  ];
  return `select id from (${sources.map((source) => `(${source})`).join(" union all ")}) newest order by id desc limit $4`;
}

// "offset 0" forces one lookup per candidate. As a plain join the planner may scan all partitions.
const searchLookup = `cross join lateral (
  select f.id, f.wallet_id, f.key_id, f.mode, f.state, f.price_micros, f.held_at, f.settled_at, f.window_ids,
    f.category, f.outcome, f.end_user, f.auth_ms, f.hold_ms, f.upstream_ms, f.rank_ms
  from pb.searches f where f.id = c.id and f.wallet_id = $1 and f.id < $2 and f.id >= $3 offset 0
) s`;
const nameJoins = `left join pb.keys k on k.id = s.key_id
  left join lateral (
    select f.subject as name from pb.budget_windows f where f.id = any (s.window_ids) and f.budget_id is null
  ) b on true`;
const outcomeOf = `case s.state when 'captured' then 'ok' when 'released' then coalesce(s.outcome, 'released')
  else s.state::text end`;
const settledMs = "round(extract(epoch from s.settled_at - s.held_at) * 1000)::integer";
const msOf = `(coalesce(s.auth_ms + s.hold_ms, 0) + ${settledMs})`;
const stepsOf = `case when s.settled_at is not null and s.auth_ms is not null then jsonb_build_object(
    'auth', s.auth_ms, 'hold', s.hold_ms, 'upstream', s.upstream_ms, 'rank', s.rank_ms,
    'ledger', greatest(${settledMs} - s.upstream_ms - s.rank_ms, 0)
  ) end`;
const columns = `s.id, s.mode, s.key_id as "keyId", k.name as "keyName", s.category, ${outcomeOf} as outcome,
  case s.state when 'captured' then s.price_micros else 0 end as charged, s.held_at as "heldAt", ${msOf} as ms, ${stepsOf} as steps, b.name as run,
  s.end_user as "endUser"`;

type PageRow = { [Name in keyof SearchView]: SearchView[Name] } & { scanned: number; last: string | null };

/** Without the other columns of a page row. */
function toView(row: SearchView): SearchView {
  const { id, mode, keyId, keyName, category, outcome, charged, heldAt, ms, steps, run, endUser } = row;
  return { id, mode, keyId, keyName, category, outcome, charged, heldAt, ms, steps, run, endUser };
}
