import { Type } from "typebox";
import type { Pool } from "../db/pool.ts";
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
import type { Enter } from "../keys/keys.ts";
import { formatUsd, priceMicros } from "../lib/money.ts";
import { Problem } from "../problems.ts";
import { exportRoute } from "./export-route.ts";
import { readStatement } from "./read-statement.ts";
import { type Entry, readEntries, readWallet } from "./read-wallet.ts";
import { entryKinds, entrySchema, money, showEntry } from "./show-entry.ts";

export interface WalletRouteParts {
  tenant: Pool;
  enter: Enter;
}

const walletSchema = Type.Object(
  {
    id: Type.String({ format: "uuid" }),
    name: Type.String(),
    currency: Type.Literal("usd"),
    balance: money("What was paid in less what was charged"),
    held: money("The part of the balance set aside for searches in flight"),
    available: money("What new searches can spend"),
    owed: money("What refunds and disputes of payments left owing; the next top-up settles it first"),
    price: money("What one search costs"),
    suspended: Type.Boolean(),
  },
  { title: "Wallet" },
);

const entriesSchema = Type.Object(
  {
    entries: Type.Array(entrySchema),
    next_cursor: Type.Union([Type.String(), Type.Null()], { description: "Send it as `cursor` for the next page." }),
  },
  { title: "WalletEntries" },
);

export function walletRoutes(parts: WalletRouteParts): Route[] {
  return [
    {
      method: "GET",
      path: "/v1/wallet",
      scope: "wallet:read",
      summary: "Read the wallet",
      description: "The balance of the wallet that the management key belongs to.",
      answer: walletSchema,
      problems: ["not_found", ...managementProblems],
      handle: async (request, reply) => {
        const { walletId } = await parts.enter(request, reply, "wallet:read");
        const wallet = await readWallet(parts.tenant, walletId).catch(unavailable);
        if (!wallet) throw new Problem("not_found");
        return {
          id: wallet.id,
          name: wallet.name,
          currency: "usd",
          balance: formatUsd(wallet.balance),
          held: formatUsd(wallet.held),
          available: formatUsd(wallet.balance - wallet.held),
          owed: formatUsd(wallet.owed),
          price: formatUsd(priceMicros),
          suspended: wallet.isSuspended,
        };
      },
    },
    {
      method: "GET",
      path: "/v1/wallet/entries",
      scope: "wallet:read",
      summary: "List the wallet's entries",
      description:
        "Every movement of money, newest first. All pages that follow one first page are the books as they were then: each balance is the one below plus the amount, across pages too. With `request_id`, only those of one search: an empty list a minute after it means that it was not charged.",
      query: {
        request_id: Type.String({ format: "uuid", description: "The Request-Id of a search." }),
        cursor: Type.String({ description: "From `next_cursor` of the page before." }),
        from: Type.String({ description: "A day or moment. A search counts for the moment it was sent." }),
        to: Type.String({ description: "A day or moment, not included." }),
        kind: Type.Enum(entryKinds),
        limit: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
      },
      answer: entriesSchema,
      problems: ["invalid_request", ...managementProblems],
      handle: async (request, reply) => {
        const { walletId } = await parts.enter(request, reply, "wallet:read");
        const wanted = readEntriesQuery(request.query);
        const isWhole = wanted.requestId === undefined && wanted.kind === undefined;
        return isWhole ? showStatement(parts, walletId, wanted) : showSome(parts, walletId, wanted);
      },
    },
    exportRoute(parts),
  ];
}

type EntriesQuery = ReturnType<typeof readEntriesQuery>;

async function showStatement({ tenant }: WalletRouteParts, walletId: string, { cursor, ...wanted }: EntriesQuery) {
  const { id, figures: [balance = 0n, bookedMicros = 0n] = [] } = readOwnCursor(walletId, cursor, 2) ?? {};
  const place = id === undefined ? undefined : { id, balance, bookedMicros };
  const { entries, next } = await readStatement(tenant, walletId, { ...wanted, place }).catch(unavailable);
  return {
    entries: entries.map(showEntry),
    next_cursor: next ? toOwnCursor(walletId, { id: next.id, figures: [next.balance, next.bookedMicros] }) : null,
  };
}

async function showSome({ tenant }: WalletRouteParts, walletId: string, { cursor, most, ...wanted }: EntriesQuery) {
  const before = readCursor(cursor);
  // One more than asked for tells whether there is a next page.
  const found = await readEntries(tenant, walletId, { ...wanted, before, most: most + 1 }).catch(unavailable);
  const { rows, nextCursor } = cutPage(found, most, (last) => toCursor(last.id));
  return { entries: rows.map((entry) => showEntry(entry)), next_cursor: nextCursor };
}

function readEntriesQuery(query: unknown) {
  const given = readParameters(query, ["request_id", "cursor", "limit", "from", "to", "kind"]);
  const { request_id: requestId, kind } = given;
  if (requestId !== undefined && !isUuid(requestId)) throw invalidParameter("request_id", "must be a Request-Id");
  if (kind !== undefined && !entryKinds.includes(kind)) {
    throw invalidParameter("kind", `must be one of ${entryKinds.join(", ")}`);
  }
  return {
    requestId,
    kind: kind === "search" ? ("capture" as const) : (kind as Exclude<Entry["kind"], "capture"> | undefined),
    from: readMoment("from", given.from),
    to: readMoment("to", given.to),
    cursor: given.cursor,
    most: readLimit(given.limit, { usual: 50, most: 100 }),
  };
}
