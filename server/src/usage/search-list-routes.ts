import { Type } from "typebox";
import { cutPage } from "../http/cut-page.ts";
import { readOwnCursor, toOwnCursor } from "../http/own-cursor.ts";
import {
  invalidParameter,
  isUuid,
  readCursor,
  readLimit,
  readMoment,
  readParameters,
  toCursor,
} from "../http/query-parameters.ts";
import { managementProblems, type Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import { formatUsd } from "../lib/money.ts";
import { Problem } from "../problems.ts";
import { type RunView, readRuns } from "./read-runs.ts";
import { readSearch, readSearches, type SearchesWanted, type SearchView } from "./read-searches.ts";
import { readEntries } from "./read-wallet.ts";
import { entrySchema, money, showEntry } from "./show-entry.ts";
import type { WalletRouteParts } from "./wallet-routes.ts";

const id = Type.String({ format: "uuid" });
const moment = Type.String({ format: "date-time" });
const nullable = Type.Union([Type.String(), Type.Null()]);

const searchFields = {
  request_id: Type.String({ format: "uuid", description: "The Request-Id of its answer." }),
  at: Type.String({ format: "date-time", description: "When it was accepted." }),
  mode: Type.Enum(["live", "test"]),
  key_id: id,
  key_name: nullable,
  category: nullable,
  outcome: Type.String({
    description:
      "`ok`; the problem code of a failure; `pending`: in flight; `expired`, `caller_left` or `released`: it ended without an answer and was not charged.",
  }),
  charged: money("What it cost, before any refund"),
  ms: Type.Union([Type.Integer(), Type.Null()], {
    description: "Milliseconds from the hold on its price to the charge or the release. Null while it is in flight.",
  }),
  run: Type.Union([Type.String(), Type.Null()], {
    description:
      "The run that its `Search-Run` named. Null if there was none, or once the run is forgotten, an hour after its end.",
  }),
};

const searchesSchema = Type.Object(
  {
    searches: Type.Array(Type.Object(searchFields)),
    since: Type.String({ format: "date-time", description: "Searches sent before this moment are not listed." }),
    next_cursor: Type.Union([Type.String(), Type.Null()], {
      description:
        "Send it as `cursor` for the next page. With `key_id` or `outcome`, a page looks at 5,000 searches at most: it may be short, even empty, and yet not be the last.",
    }),
  },
  { title: "Searches" },
);

const searchSchema = Type.Object(
  {
    ...searchFields,
    entries: Type.Array(entrySchema, { description: "What was charged for it and given back, newest first." }),
  },
  { title: "SearchOfWallet" },
);

const runsSchema = Type.Object(
  {
    runs: Type.Array(
      Type.Object({
        run: Type.String({ description: "The id that `Search-Run` named." }),
        spent: money("What its searches cost; those in flight count until they end"),
        limit: money("Its `max`"),
        searches: Type.Integer({ minimum: 0, description: "How many that is." }),
        first_at: Type.String({ format: "date-time", description: "When its first search opened it." }),
        expires_at: moment,
      }),
    ),
    next_cursor: Type.Union([Type.String(), Type.Null()], { description: "Send it as `cursor` for the next page." }),
  },
  { title: "Runs" },
);

/** What became of single searches, and of the runs they belong to. */
export function searchListRoutes(parts: WalletRouteParts): Route[] {
  return [listSearches(parts), showOneSearch(parts), listRuns(parts)];
}

function listSearches({ tenant, enter }: WalletRouteParts): Route {
  return {
    method: "GET",
    path: "/v1/searches",
    scope: "wallet:read",
    summary: "List the wallet's searches",
    description:
      "Searches that have ended, newest first, with what became of each. A request that was refused before its price was held, or answered again from its `Idempotency-Key`, is not among them; `GET /v1/usage` counts those. Never the query.",
    query: {
      outcome: Type.String({ description: "`ok`, `failed` for all others, or one of those.", examples: ["failed"] }),
      key_id: id,
      mode: Type.Enum(["live", "test"]),
      cursor: Type.String({ description: "From `next_cursor` of the page before; keep the other parameters." }),
      limit: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
    },
    answer: searchesSchema,
    problems: ["invalid_request", ...managementProblems],
    handle: async (request, reply) => {
      const { walletId } = await enter(request, reply, "wallet:read");
      const page = await readSearches(tenant, walletId, readSearchesQuery(request.query)).catch(unavailable);
      return {
        searches: page.searches.map(showSearch),
        since: page.since.toISOString(),
        next_cursor: page.next === undefined ? null : toCursor(page.next),
      };
    },
  };
}

function showOneSearch({ tenant, enter }: WalletRouteParts): Route {
  return {
    method: "GET",
    path: "/v1/searches/:id",
    scope: "wallet:read",
    summary: "Read one search",
    description:
      "By its Request-Id: what became of it, and every movement of money about it. 404 if the request never became a search: it was refused before its price was held, and nothing was charged.",
    answer: searchSchema,
    problems: ["not_found", ...managementProblems],
    handle: async (request, reply) => {
      const { walletId } = await enter(request, reply, "wallet:read");
      const { id: requestId } = request.params as { id: string };
      if (!isUuid(requestId)) throw new Problem("not_found");
      const search = await readSearch(tenant, walletId, requestId).catch(unavailable);
      if (!search) throw new Problem("not_found");
      const entries = await readEntries(tenant, walletId, { requestId, most: 10 }).catch(unavailable);
      return { ...showSearch(search), entries: entries.map((entry) => showEntry(entry)) };
    },
  };
}

function listRuns({ tenant, enter }: WalletRouteParts): Route {
  return {
    method: "GET",
    path: "/v1/runs",
    scope: "wallet:read",
    summary: "List the wallet's runs",
    description:
      "Runs that are open or ended in the last hour, newest first. Runs of test keys spend nothing and have none.",
    query: {
      from: Type.String({ description: "A day or moment: only runs that were opened from then on." }),
      cursor: Type.String({ description: "From `next_cursor` of the page before." }),
      limit: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
    },
    answer: runsSchema,
    problems: ["invalid_request", ...managementProblems],
    handle: async (request, reply) => {
      const { walletId } = await enter(request, reply, "wallet:read");
      const given = readParameters(request.query, ["from", "cursor", "limit"]);
      const most = readLimit(given.limit, { usual: 50, most: 100 });
      const place = readOwnCursor(walletId, given.cursor, 1);
      const wanted = {
        from: readMoment("from", given.from),
        before: place && { id: place.id, openedMicros: place.figures[0] ?? 0n },
      };
      const found = await readRuns(tenant, walletId, { ...wanted, most: most + 1 }).catch(unavailable);
      const { rows, nextCursor } = cutPage(found, most, (last) =>
        toOwnCursor(walletId, { id: last.id, figures: [last.openedMicros] }),
      );
      return { runs: rows.map(showRun), next_cursor: nextCursor };
    },
  };
}

function showSearch(search: SearchView) {
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
    run: search.run,
  };
}

function showRun({ name, spent, limit, searches, openedAt, expiresAt }: RunView) {
  return {
    run: name,
    spent: formatUsd(spent),
    limit: formatUsd(limit),
    searches,
    first_at: openedAt.toISOString(),
    expires_at: expiresAt.toISOString(),
  };
}

function readSearchesQuery(query: unknown): SearchesWanted {
  const given = readParameters(query, ["outcome", "key_id", "mode", "cursor", "limit"]);
  const { outcome, key_id: keyId, mode } = given;
  if (outcome !== undefined && !/^[a-z_]{1,64}$/.test(outcome)) {
    throw invalidParameter("outcome", "must be ok, failed, or an outcome such as upstream_timeout");
  }
  if (keyId !== undefined && !isUuid(keyId)) throw invalidParameter("key_id", "must be the id of a key");
  if (mode !== undefined && mode !== "live" && mode !== "test") throw invalidParameter("mode", "must be live or test");
  return {
    outcome,
    keyId,
    mode,
    before: readCursor(given.cursor),
    most: readLimit(given.limit, { usual: 50, most: 100 }),
  };
}
