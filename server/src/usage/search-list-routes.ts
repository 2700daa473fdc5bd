import { Type } from "typebox";
import { describeText } from "../http/input/faults.ts";
import { paginate } from "../http/input/paginate.ts";
import { noSuchResource, type Resource, readPathId } from "../http/input/path-id.ts";
import {
  anyText,
  cursorId,
  dayOrTime,
  InvalidValue,
  oneOf,
  pageSize,
  readQuery,
  toCursor,
  uuidOf,
} from "../http/input/query-parameters.ts";
import { decodeWalletCursor, encodeWalletCursor } from "../http/input/wallet-cursor.ts";
import { managementProblems, nextCursor, pageParameters, type Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import { formatUsd } from "../lib/money.ts";
import {
  entrySchema,
  findStoredEndUser,
  money,
  type RunView,
  readEntriesOfSearch,
  readRuns,
  readSearch,
  readSearches,
  type SearchesQuery,
  type SearchView,
  serializeEntry,
} from "../wallet/wallet.ts";
import { readEndUserParameter } from "./end-user-parameter.ts";
import type { UsageRouteDependencies } from "./usage-routes.ts";

const id = Type.String({ format: "uuid" });
const moment = Type.String({ format: "date-time" });
const nullable = Type.Union([Type.String(), Type.Null()]);

const searchSchema = Type.Object(
  {
    request_id: Type.String({ format: "uuid", description: "The `Request-Id` of its response." }),
    at: Type.String({ format: "date-time", description: "When the search was accepted." }),
    mode: Type.Enum(["live", "test"]),
    key_id: id,
    key_name: nullable,
    category: nullable,
    outcome: Type.String({
      description:
        "`ok`, or the problem code of the failure. `pending`: in flight. `expired`, `caller_left` and `released`: ended without a response and was not charged.",
    }),
    charged: money("Amount charged, before any refund"),
    ms: Type.Union([Type.Integer(), Type.Null()], {
      description: "Milliseconds from the hold to the charge or release. Null while the search is in flight.",
    }),
    end_user: Type.Union([Type.String(), Type.Null()], {
      description:
        "The end user in its `Search-For` header: a hash that starts with `~`, or the id if the wallet stores plain ids. Null without one.",
    }),
    run: Type.Union([Type.String(), Type.Null()], {
      description:
        "The run named by its `Search-Run` header. Null without a run, for a test search, and once the run is deleted, an hour after it ends.",
    }),
  },
  { title: "Search" },
);

const searchesSchema = Type.Object(
  {
    searches: Type.Array(searchSchema),
    since: Type.String({ format: "date-time", description: "Searches sent before this time are not listed." }),
    next_cursor: Type.Union([Type.String(), Type.Null()], {
      description:
        "Pass as `cursor` to get the next page. With a filter, a page scans at most 5,000 searches, so it can be short or empty without being the last.",
    }),
  },
  { title: "SearchList" },
);

const searchDetailsSchema = Type.Intersect(
  [
    searchSchema,
    Type.Object({
      entries: Type.Array(entrySchema, {
        description: "Its charge and refund, newest first, with the balance after each.",
      }),
    }),
  ],
  { title: "SearchDetails" },
);

const runsSchema = Type.Object(
  {
    runs: Type.Array(
      Type.Object(
        {
          run: Type.String({ description: "The id sent in `Search-Run`." }),
          spent: money("Amount spent, including searches in flight"),
          limit: money("Its `max`"),
          searches: Type.Integer({ minimum: 0, description: "Number of searches counted in `spent`." }),
          first_at: Type.String({ format: "date-time", description: "When its first search started it." }),
          expires_at: moment,
        },
        { title: "Run" },
      ),
    ),
    next_cursor: nextCursor,
  },
  { title: "RunList" },
);

/** Routes that list single searches and runs. */
export function searchListRoutes(dependencies: UsageRouteDependencies): Route[] {
  return [listSearches(dependencies), readOneSearch(dependencies), listRuns(dependencies)];
}

function listSearches(dependencies: UsageRouteDependencies): Route {
  const { tenant, guard } = dependencies;
  return {
    method: "GET",
    path: "/v1/searches",
    scope: "wallet:read",
    operationId: "listSearches",
    tag: "Searches",
    summary: "List searches",
    description:
      "Returns finished searches and their outcomes, newest first. Requests refused before a hold, and replays of an `Idempotency-Key`, are not listed; `GET /v1/usage` counts them. Queries are not included.",
    query: {
      outcome: Type.String({
        description: "`ok`, `failed` for every other outcome, or a single outcome.",
        examples: ["failed"],
      }),
      key_id: Type.String({ format: "uuid", description: "Only searches with this key." }),
      for: Type.String({
        description:
          "Only searches for this end user: the id that you sent in `Search-For`, or an `end_user` of a response.",
      }),
      mode: Type.Enum(["live", "test"], { description: "Only searches in this mode." }),
      category: Type.String({
        description: "Only searches in this category, or `none` for searches without one.",
        examples: ["research"],
      }),
      run: Type.String({ description: "Only searches of this run, until the run is deleted, an hour after it ends." }),
      from: Type.String({ description: "Start day or time. Only searches accepted since then." }),
      to: Type.String({ description: "End day or time, exclusive." }),
      ...pageParameters,
    },
    answer: searchesSchema,
    problems: ["invalid_request", ...managementProblems],
    handle: async (request, reply) => {
      const { walletId } = await guard(request, reply, "wallet:read");
      const { endUser, ...query } = readSearchesQuery(request.query);
      const endUsers =
        endUser === undefined ? undefined : await findStoredEndUser(dependencies, walletId, endUser).catch(unavailable);
      const page = await readSearches(tenant, walletId, { ...query, endUsers }).catch(unavailable);
      return {
        searches: page.searches.map(serializeSearch),
        since: page.since.toISOString(),
        next_cursor: page.next === undefined ? null : toCursor(page.next),
      };
    },
  };
}

const searchResource: Resource = { name: "search", list: "GET /v1/searches" };

function readOneSearch({ tenant, guard }: UsageRouteDependencies): Route {
  return {
    method: "GET",
    path: "/v1/searches/:id",
    scope: "wallet:read",
    operationId: "getSearch",
    tag: "Searches",
    summary: "Get a search",
    description:
      "Returns the outcome of a search and its charge and refund, by Request-Id. Returns 404 if the request was refused before a hold; it was not charged.",
    answer: searchDetailsSchema,
    problems: ["not_found", ...managementProblems],
    handle: async (request, reply) => {
      const { walletId } = await guard(request, reply, "wallet:read");
      const requestId = readPathId(request.params, searchResource);
      const search = await readSearch(tenant, walletId, requestId).catch(unavailable);
      if (!search) throw noSuchResource(searchResource);
      const entries = await readEntriesOfSearch(tenant, walletId, requestId).catch(unavailable);
      return { ...serializeSearch(search), entries: entries.map((entry) => serializeEntry(entry)) };
    },
  };
}

function listRuns({ tenant, guard }: UsageRouteDependencies): Route {
  return {
    method: "GET",
    path: "/v1/runs",
    scope: "wallet:read",
    operationId: "listRuns",
    tag: "Searches",
    summary: "List runs",
    description:
      "Returns runs that are open or ended within the last hour, newest first. Runs of test keys, which spend play money, are not listed.",
    query: {
      from: Type.String({ description: "Start day or time. Only runs started since then." }),
      ...pageParameters,
    },
    answer: runsSchema,
    problems: ["invalid_request", ...managementProblems],
    handle: async (request, reply) => {
      const { walletId } = await guard(request, reply, "wallet:read");
      const { from, cursor, limit } = readQuery(request.query, {
        from: dayOrTime,
        cursor: anyText,
        limit: pageSize({ default: 50, max: 100 }),
      });
      const [openedMicros = 0n, id = 0n] = decodeWalletCursor(walletId, cursor, 2)?.figures ?? [];
      const query = {
        from,
        before: cursor === undefined ? undefined : { id, openedMicros },
      };
      const found = await readRuns(tenant, walletId, { ...query, limit: limit + 1 }).catch(unavailable);
      const page = paginate(found, limit, (last) =>
        encodeWalletCursor(walletId, { id: walletId, figures: [last.openedMicros, last.id] }),
      );
      return { runs: page.rows.map(serializeRun), next_cursor: page.nextCursor };
    },
  };
}

function serializeSearch(search: SearchView) {
  return {
    request_id: search.id,
    at: search.heldAt.toISOString(),
    mode: search.mode,
    key_id: search.keyId,
    key_name: search.keyName,
    category: search.category,
    outcome: search.outcome,
    charged: formatUsd(search.charged),
    ms: search.ms,
    end_user: search.endUser,
    run: search.run,
  };
}

function serializeRun({ name, spent, limit, searches, openedAt, expiresAt }: RunView) {
  return {
    run: name,
    spent: formatUsd(spent),
    limit: formatUsd(limit),
    searches,
    first_at: openedAt.toISOString(),
    expires_at: expiresAt.toISOString(),
  };
}

function readSearchesQuery(query: unknown): Omit<SearchesQuery, "endUsers"> & { endUser: string | undefined } {
  const given = readQuery(query, {
    outcome: readOutcome,
    for: readEndUserParameter,
    key_id: uuidOf("the id of a key"),
    mode: oneOf(["live", "test"]),
    category: readCategory,
    run: anyText,
    from: dayOrTime,
    to: dayOrTime,
    cursor: cursorId,
    limit: pageSize({ default: 50, max: 100 }),
  });
  const { key_id: keyId, for: endUser, cursor: before, ...filter } = given;
  return { ...filter, keyId, endUser, before };
}

function readOutcome(text: string | undefined): string | undefined {
  if (text !== undefined && !/^[a-z_]{1,64}$/.test(text)) {
    const rule = "must be `ok`, `failed`, or a problem code such as `upstream_timeout`";
    throw new InvalidValue(`${rule}, but ${describeText(text)}`);
  }
  return text;
}

function readCategory(text: string | undefined): string | undefined {
  if (text !== undefined && !/^[a-z_]{1,64}$/.test(text)) {
    throw new InvalidValue(`must be a category such as \`research\`, or \`none\`, but ${describeText(text)}`);
  }
  return text === "none" ? "" : text;
}
