import { asTenant, snapshotAsTenant } from "../db/as-tenant.ts";
import type { Pool, Queryable } from "../db/pool.ts";
import { firstIdOf } from "../lib/first-id-of.ts";
import { timeOfId } from "../lib/time-of-id.ts";
import type { SearchesQuery } from "../wallet/wallet.ts";
import type { UnheldRequest } from "./unheld-requests.ts";

// Individual refusals and replays. Only a limited number is stored; the others are only counted.

/** A stored refusal or replay. */
export interface RequestView extends Omit<UnheldRequest, "walletId" | "run" | "endUser"> {
  keyName: string | null;
  run: string | null;
  endUser: string | null;
  at: Date;
}

export interface RequestsQuery extends Omit<SearchesQuery, "category"> {
  kind: "refused" | "replayed" | "all";
}

export interface RequestPage {
  /** Newest first. */
  requests: RequestView[];
  /** Cursor of the next page; undefined on the last one. */
  next: string | undefined;
  /** Undefined if the query has filters that the counts do not have. */
  unlisted: Unlisted | undefined;
}

/** Requests that match, in whole hours, and were counted but not stored. */
export interface Unlisted {
  count: number;
  /** There may be more: a server crashed, or had too many different ones to count. */
  isAtLeast: boolean;
}

/** Requests scanned per page. Bounds the cost of a filter that matches few of them. */
const maxScanned = 5_000;

/** One snapshot, so that the list and the number of unlisted requests add up. */
export async function readRequests(
  pool: Pool,
  walletId: string,
  query: RequestsQuery,
): Promise<RequestPage & { since: Date }> {
  return snapshotAsTenant(pool, walletId, async (db) => {
    const { rows } = await db.query<{ since: Date }>("select pb.requests_listed_since() as since");
    const since = rows[0]?.since ?? new Date(0);
    const range = { ...query, from: query.from && query.from > since ? query.from : since };
    return {
      ...(await readPage(db, walletId, range)),
      unlisted: query.run === undefined && !query.endUsers ? await countUnlisted(db, walletId, range) : undefined,
      since,
    };
  });
}

/** Undefined if the request was not stored. */
export async function readRequest(pool: Pool, walletId: string, id: string): Promise<RequestView | undefined> {
  const { rows } = await asTenant(pool, walletId, (db) =>
    db.query<RequestView>(
      `select ${columns} from pb.unheld_requests r ${nameJoin} where r.wallet_id = $1 and r.id = $2`,
      [walletId, id],
    ),
  );
  return rows[0] && withTime(rows[0]);
}

/** The wallet of a stored refusal or replay, for operators. */
export async function findRequest(
  operator: Queryable,
  id: string,
): Promise<{ walletId: string; keyId: string } | undefined> {
  const { rows } = await operator.query<{ walletId: string; keyId: string }>(
    `select wallet_id as "walletId", key_id as "keyId" from pb.unheld_requests where id = $1`,
    [id],
  );
  return rows[0];
}

type Ranged = RequestsQuery & { from: Date };

async function readPage(
  db: Queryable,
  walletId: string,
  query: Ranged,
): Promise<Pick<RequestPage, "requests" | "next">> {
  const { mode, keyId, endUsers, run, limit } = query;
  const hasFilter = [mode, keyId, endUsers, run, query.outcome].some((value) => value !== undefined);
  const scanLimit = hasFilter || query.kind !== "all" ? maxScanned : limit + 1;
  const { rows } = await db.query<RequestView & { scanned: number; last: string | null }>(
    `with candidates as materialized (
       select r.* from (
         select id, key_id, mode, outcome, run, end_user, transport from pb.unheld_requests
         where wallet_id = $1 and id < $2 and id >= $3 order by id desc limit $4
       ) r
     )
     select e.scanned, e.last, found.*
     from (select count(*)::integer as scanned, (select id from candidates order by id limit 1) as last
       from candidates) e
     left join lateral (
       select ${columns} from candidates r ${nameJoin}
       where ${matches("$5", "$6", "$7", "$8")} and ($9::text[] is null or r.end_user = any ($9))
         and ($10::text is null or r.run = $10)
       order by r.id desc limit $11
     ) found on true`,
    [
      walletId,
      upperBound(query),
      firstIdOf(query.from),
      scanLimit,
      mode ?? null,
      keyId ?? null,
      query.kind,
      query.outcome ?? null,
      endUsers ?? null,
      run ?? null,
      limit + 1,
    ],
  );
  const [first] = rows;
  const found = rows.filter((row) => row.id !== null).map(withTime);
  const requests = found.slice(0, limit);
  const scannedTo = first !== undefined && first.scanned === scanLimit ? (first.last ?? undefined) : undefined;
  return { requests, next: found.length > limit ? requests.at(-1)?.id : scannedTo };
}

async function countUnlisted(db: Queryable, walletId: string, query: Ranged): Promise<Unlisted> {
  const hourMs = 3_600_000;
  const from = new Date(Math.floor(query.from.getTime() / hourMs) * hourMs);
  const to = new Date(Math.ceil((query.to?.getTime() ?? Date.now() + hourMs) / hourMs) * hourMs);
  const { rows } = await db.query<Unlisted>(
    `select greatest(
         (select coalesce(sum(r.searches), 0) from pb.usage_hours r
          where r.wallet_id = $1 and r.hour >= $2 and r.hour < $3 and not r.was_held and ${matches("$6", "$7", "$8", "$9")})
         - (select count(*) from pb.unheld_requests r
            where r.wallet_id = $1 and r.id >= $4 and r.id < $5 and ${matches("$6", "$7", "$8", "$9")}), 0
       )::float8 as count,
       not pb.are_requests_complete($2, $3) as "isAtLeast"`,
    [
      walletId,
      from,
      to,
      firstIdOf(from),
      firstIdOf(to),
      query.mode ?? null,
      query.keyId ?? null,
      query.kind,
      query.outcome ?? null,
    ],
  );
  return rows[0] ?? { count: 0, isAtLeast: false };
}

/** SQL for the filters that stored requests and their counts have in common. A replay is not a failure. */
function matches(mode: string, keyId: string, kind: string, outcome: string): string {
  return `(${mode}::pb.key_mode is null or r.mode = ${mode}) and (${keyId}::uuid is null or r.key_id = ${keyId})
    and case ${kind} when 'all' then true when 'replayed' then r.outcome = 'replayed' else r.outcome <> 'replayed' end
    and case ${outcome}::text when 'failed' then r.outcome <> 'replayed' else ${outcome} is null or r.outcome = ${outcome} end`;
}

const columns = `r.id, r.key_id as "keyId", k.name as "keyName", r.mode, r.outcome, r.run, r.end_user as "endUser", r.transport`;
const nameJoin = "left join pb.keys k on k.id = r.key_id";

function upperBound({ before, to }: RequestsQuery): string {
  const last = "ffffffff-ffff-ffff-ffff-ffffffffffff";
  const end = to === undefined ? last : firstIdOf(to);
  return before !== undefined && before < end ? before : end;
}

/** Without the other columns of a page row. */
function withTime({ id, keyId, keyName, mode, outcome, run, endUser, transport }: RequestView): RequestView {
  return { id, keyId, keyName, mode, outcome, run, endUser, transport, at: new Date(timeOfId(id)) };
}
