import { Type } from "typebox";
import type { Pool } from "../../db/pool.ts";
import { paginate } from "../../http/input/paginate.ts";
import {
  anyText,
  cursorId,
  dayOrTime,
  oneOf,
  pageSize,
  readQuery,
  toCursor,
  uuidOf,
} from "../../http/input/query-parameters.ts";
import { decodeWalletCursor, encodeWalletCursor } from "../../http/input/wallet-cursor.ts";
import { managementProblems, nextCursor, pageParameters, type Route } from "../../http/route.ts";
import { unavailable } from "../../http/unavailable.ts";
import { formatUsd, priceMicros } from "../../lib/money.ts";
import { Problem } from "../../problems/problems.ts";
import { readStatement } from "../reads/read-statement.ts";
import { type Entry, readEntries, readWallet } from "../reads/read-wallet.ts";
import { entryKinds, entrySchema, money, serializeEntry } from "../reads/serialize-entry.ts";
import { exportRoute } from "./export-route.ts";
import type { WalletGuard } from "./wallet-guard.ts";

export interface WalletRouteDependencies {
  tenant: Pool;
  guard: WalletGuard;
}

const walletSchema = Type.Object(
  {
    id: Type.String({ format: "uuid" }),
    name: Type.String(),
    currency: Type.Literal("usd"),
    balance: money("Credits minus charges"),
    held: money("Part of the balance reserved for searches in flight"),
    available: money("Balance that new searches can spend"),
    owed: money("Debt left by refunded or disputed payments, which newly available money pays off first"),
    price: money("Price of one search"),
    suspended: Type.Boolean(),
  },
  { title: "Wallet" },
);

const entriesSchema = Type.Object(
  {
    entries: Type.Array(entrySchema),
    next_cursor: nextCursor,
  },
  { title: "EntryList" },
);

export function walletRoutes(dependencies: WalletRouteDependencies): Route[] {
  return [
    {
      method: "GET",
      path: "/v1/wallet",
      scope: "wallet:read",
      operationId: "getWallet",
      tag: "Wallet",
      summary: "Get the wallet",
      description: "Returns the wallet of the management key.",
      answer: walletSchema,
      problems: ["not_found", ...managementProblems],
      handle: async (request, reply) => {
        const { walletId } = await dependencies.guard(request, reply, "wallet:read");
        const wallet = await readWallet(dependencies.tenant, walletId).catch(unavailable);
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
      operationId: "listEntries",
      tag: "Wallet",
      summary: "List entries",
      description:
        "Returns every entry, newest first. All pages of a listing are one snapshot taken at its first page, so balances add up across pages. To find out whether a search was charged, use `request_id`. An empty list one minute after the request means that it was not.",
      query: {
        request_id: Type.String({ format: "uuid", description: "The Request-Id of a search." }),
        from: Type.String({ description: "Start day or time. A search counts at the time it was sent." }),
        to: Type.String({ description: "End day or time, exclusive." }),
        kind: Type.Enum(entryKinds, { description: "Only entries of this kind." }),
        ...pageParameters,
      },
      answer: entriesSchema,
      problems: ["invalid_request", ...managementProblems],
      handle: async (request, reply) => {
        const { walletId } = await dependencies.guard(request, reply, "wallet:read");
        const query = readEntriesQuery(request.query);
        const isUnfiltered = query.requestId === undefined && query.kind === undefined;
        return isUnfiltered
          ? listAllEntries(dependencies, walletId, query)
          : listMatchingEntries(dependencies, walletId, query);
      },
    },
    exportRoute(dependencies),
  ];
}

type EntriesQuery = ReturnType<typeof readEntriesQuery>;

async function listAllEntries(
  { tenant }: WalletRouteDependencies,
  walletId: string,
  { cursor, ...query }: EntriesQuery,
) {
  const { id, figures: [balance = 0n, bookedMicros = 0n] = [] } = decodeWalletCursor(walletId, cursor, 2) ?? {};
  const position = id === undefined ? undefined : { id, balance, bookedMicros };
  const { entries, next } = await readStatement(tenant, walletId, { ...query, position }).catch(unavailable);
  return {
    entries: entries.map(serializeEntry),
    next_cursor: next
      ? encodeWalletCursor(walletId, { id: next.id, figures: [next.balance, next.bookedMicros] })
      : null,
  };
}

async function listMatchingEntries(
  { tenant }: WalletRouteDependencies,
  walletId: string,
  { cursor, limit, ...query }: EntriesQuery,
) {
  const { cursor: before } = readQuery({ cursor }, { cursor: cursorId });
  const found = await readEntries(tenant, walletId, { ...query, before, limit: limit + 1 }).catch(unavailable);
  const page = paginate(found, limit, (last) => toCursor(last.id));
  return { entries: page.rows.map((entry) => serializeEntry(entry)), next_cursor: page.nextCursor };
}

function readEntriesQuery(query: unknown) {
  const { request_id, kind, ...rest } = readQuery(query, {
    request_id: uuidOf("a `Request-Id`"),
    cursor: anyText,
    limit: pageSize({ default: 50, max: 100 }),
    from: dayOrTime,
    to: dayOrTime,
    kind: oneOf(entryKinds),
  });
  return {
    ...rest,
    requestId: request_id,
    kind: kind === "search" ? ("capture" as const) : (kind as Exclude<Entry["kind"], "capture"> | undefined),
  };
}
