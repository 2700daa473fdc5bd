import { Type } from "typebox";
import { describeText, invalidParameter } from "../http/input/faults.ts";
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
import { entrySchema, findStoredEndUser, money, type RunView, readRuns } from "../wallet/wallet.ts";
import { readEndUserParameter } from "./end-user-parameter.ts";
import { kinds, type ListQuery, readList } from "./read-list.ts";
import { readSearchDetails, serializeItem } from "./search-details.ts";
import { transports } from "./unheld-requests.ts";
import type { UsageRouteDependencies } from "./usage-routes.ts";

const id = Type.String({ format: "uuid" });
const moment = Type.String({ format: "date-time" });
const nullable = Type.Union([Type.String(), Type.Null()]);

const searchSchema = Type.Object(
  {
    request_id: Type.String({ format: "uuid", description: "The `Request-Id` of its response." }),
    kind: Type.Enum(["search", "refused", "replayed"], {
      description:
        "`search`: its price was held. `refused`: rejected before that, for example by a limit. `replayed`: answered from its `Idempotency-Key`. Only a search can be charged.",
    }),
    at: Type.String({
      format: "date-time",
      description: "When the price of the search was held, or the refused or replayed request arrived.",
    }),
    mode: Type.Enum(["live", "test"]),
    key_id: id,
    key_name: nullable,
    category: nullable,
    outcome: Type.String({
      description:
        "`ok`, or the problem code of the failure or refusal. `pending`: in flight. `expired`, `caller_left` and `released`: ended without a response and was not charged. `replayed`: answered from its `Idempotency-Key`.",
    }),
    charged: money("Amount charged, before any refund"),
    ms: Type.Union([Type.Integer(), Type.Null()], {
      description:
        "Milliseconds from the arrival of the request to the charge or release. Null while the search is in flight, and if there was no hold. An expired search has no `steps` and counts from its hold.",
    }),
    steps: Type.Union(
      [
        Type.Object({
          auth: Type.Integer({ description: "Finding the key." }),
          hold: Type.Integer({ description: "Limits, reading the request, and holding the price." }),
          upstream: Type.Integer({ description: "Waiting for upstreams." }),
          rank: Type.Integer({ description: "Ranking and encoding the results." }),
          ledger: Type.Integer({ description: "The charge or release." }),
        }),
        Type.Null(),
      ],
      {
        description: "The parts of `ms`. Null while the search is in flight, if it expired, and if there was no hold.",
      },
    ),
    end_user: Type.Union([Type.String(), Type.Null()], {
      description:
        "The end user in its `Search-For` header: a hash that starts with `~`, or the id if the wallet stores plain ids. Null without one.",
    }),
    run: Type.Union([Type.String(), Type.Null()], {
      description:
        "The run named by its `Search-Run` header. Null without a run, for a test search, and once the run is deleted, an hour after it ends. A request that was refused before its header was read has none.",
    }),
    transport: Type.Union([Type.Enum(transports), Type.Null()], {
      description:
        "How a refused or replayed request was sent: to the API, a compatibility endpoint, `/mcp` or the playground. Null for a search.",
    }),
  },
  { title: "Search" },
);

const unlistedSchema = Type.Object(
  {
    since: Type.String({
      format: "date-time",
      description: "Refusals and replays are listed and counted from this time on.",
    }),
    count: Type.Integer({
      minimum: 0,
      description:
        "Refusals and replays that match the filters and are not stored individually, because a key had more than 20 in a minute or the wallet more than 100 in a minute or 5,000 in a day. Counted in whole hours.",
    }),
    at_least: Type.Boolean({
      description:
        "There can be more, because a server crashed in one of these hours or had too many different requests to count.",
    }),
  },
  { title: "UnlistedRequests" },
);

const searchesSchema = Type.Object(
  {
    searches: Type.Array(searchSchema),
    since: Type.String({
      format: "date-time",
      description: "Searches sent before this time are not listed. With `kind=refused` or `replayed`: requests.",
    }),
    unlisted: Type.Union([unlistedSchema, Type.Null()], {
      description:
        "Null if the list excludes refusals and replays, or is filtered by `run` or `for`, by which they are not counted.",
    }),
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
      "Returns finished searches and their outcomes, newest first. With `kind`, also requests that were refused before a hold, and replays of an `Idempotency-Key`, of the last 7 days. Queries are not included.",
    query: {
      kind: Type.Enum(kinds, {
        default: "search",
        description: "`search`, `refused`, `replayed`, or `all`.",
      }),
      outcome: Type.String({
        description: "`ok`, `failed` for every other outcome except `replayed`, or a single outcome.",
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
      from: Type.String({ description: "Start day or time, of `at`." }),
      to: Type.String({ description: "End day or time of `at`, exclusive." }),
      ...pageParameters,
    },
    answer: searchesSchema,
    problems: ["invalid_request", ...managementProblems],
    handle: async (request, reply) => {
      const caller = await guard(request, reply, "wallet:read");
      const { walletId } = caller;
      const { endUser, ...query } = readSearchesQuery(request.query);
      const endUsers =
        endUser === undefined ? undefined : await findStoredEndUser(dependencies.dataKeys, caller, endUser);
      const { items, since, unlisted, next } = await readList(tenant, walletId, { ...query, endUsers }).catch(
        unavailable,
      );
      return {
        searches: items.map(serializeItem),
        since: since.toISOString(),
        unlisted: unlisted
          ? { since: unlisted.since.toISOString(), count: unlisted.count, at_least: unlisted.isAtLeast }
          : null,
        next_cursor: next === undefined ? null : toCursor(next),
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
      "Returns the outcome of a search and its charge and refund, by Request-Id. Also returns a request that was refused or replayed within the last 7 days, if it is stored. After that, 404 means that the request was not charged.",
    answer: searchDetailsSchema,
    problems: ["not_found", ...managementProblems],
    handle: async (request, reply) => {
      const { walletId } = await guard(request, reply, "wallet:read");
      const requestId = readPathId(request.params, searchResource);
      const details = await readSearchDetails(tenant, walletId, requestId).catch(unavailable);
      if (!details) throw noSuchResource(searchResource);
      return details;
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

function readSearchesQuery(query: unknown): Omit<ListQuery, "endUsers"> & { endUser: string | undefined } {
  const given = readQuery(query, {
    kind: oneOf(kinds),
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
  const isUnheld = given.kind === "refused" || given.kind === "replayed";
  if (isUnheld && given.category !== undefined && given.category !== "")
    throw invalidParameter(
      "category",
      "must be absent or `none` with this `kind`, because refusals and replays have none",
    );
  const { kind = "search", key_id: keyId, for: endUser, cursor: before, ...filter } = given;
  return { ...filter, kind, keyId, endUser, before };
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
