import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Pool } from "../db/pool.ts";
import type { Route } from "../http/route.ts";
import type { Principal } from "../keys/keys.ts";
import { formatUsd, priceMicros } from "../lib/money.ts";
import { Problem, type ProblemCode } from "../problems.ts";
import { type Entry, readEntries, readWallet } from "./read-wallet.ts";

export interface WalletRouteParts {
  tenant: Pool;
  /** Lets a key in, within its limits, or refuses. */
  enter(request: FastifyRequest, reply: FastifyReply, scope: "wallet:read"): Promise<Principal>;
}

const money = (description: string) =>
  Type.String({ description: `${description}, in USD as a decimal string.`, pattern: "^-?\\d+\\.\\d{2,6}$" });

const walletSchema = Type.Object(
  {
    id: Type.String({ format: "uuid" }),
    name: Type.String(),
    currency: Type.Literal("usd"),
    balance: money("What was paid in less what was charged"),
    held: money("The part of the balance set aside for searches in flight"),
    available: money("What new searches can spend"),
    price: money("What one search costs"),
    suspended: Type.Boolean(),
  },
  { title: "Wallet" },
);

const entrySchema = Type.Object({
  id: Type.String({ format: "uuid" }),
  kind: Type.Enum(["search", "refund", "top_up", "credit"]),
  amount: money("What the wallet gained, or lost if negative"),
  currency: Type.Literal("usd"),
  request_id: Type.Union([Type.String({ format: "uuid" }), Type.Null()], { description: "The search it is about." }),
  created_at: Type.String({ format: "date-time" }),
});

const entriesSchema = Type.Object(
  {
    entries: Type.Array(entrySchema),
    next_cursor: Type.Union([Type.String(), Type.Null()], { description: "Send it as `cursor` for the next page." }),
  },
  { title: "WalletEntries" },
);

const managementProblems: ProblemCode[] = [
  "conflicting_credentials",
  "authentication_required",
  "api_key_invalid",
  "api_key_revoked",
  "api_key_expired",
  "insufficient_scope",
  "ip_not_allowed",
  "account_suspended",
  "rate_limited",
  "concurrency_limited",
  "internal_error",
  "ledger_unavailable",
];

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
        "Every movement of money, newest first. With `request_id`, only those of one search: an empty list a minute after it means that it was not charged.",
      query: {
        request_id: Type.String({ format: "uuid", description: "The Request-Id of a search." }),
        cursor: Type.String({ description: "From `next_cursor` of the page before." }),
        limit: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
      },
      answer: entriesSchema,
      problems: ["invalid_request", ...managementProblems],
      handle: async (request, reply) => {
        const { walletId } = await parts.enter(request, reply, "wallet:read");
        const { requestId, before, most } = readEntriesQuery(request.query as Record<string, unknown>);
        // One more than asked for tells whether there is a next page.
        const found = await readEntries(parts.tenant, walletId, { requestId, before, most: most + 1 }).catch(
          unavailable,
        );
        const entries = found.slice(0, most);
        const last = entries.at(-1);
        return { entries: entries.map(showEntry), next_cursor: found.length > most && last ? toCursor(last.id) : null };
      },
    },
  ];
}

function unavailable(cause: unknown): never {
  throw new Problem("ledger_unavailable", { cause });
}

function showEntry(entry: Entry) {
  return {
    id: entry.id,
    kind: entry.kind === "capture" ? "search" : entry.kind,
    amount: formatUsd(entry.amount),
    currency: "usd",
    request_id: entry.requestId,
    created_at: entry.createdAt.toISOString(),
  };
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function readEntriesQuery(query: Record<string, unknown>) {
  for (const name of Object.keys(query)) {
    if (!["request_id", "cursor", "limit"].includes(name)) throw invalidQuery(name, "is not a parameter");
  }
  const { request_id: requestId, cursor, limit = "50" } = query;
  if (requestId !== undefined && !(typeof requestId === "string" && uuid.test(requestId))) {
    throw invalidQuery("request_id", "must be a Request-Id");
  }
  const before = typeof cursor === "string" ? fromCursor(cursor) : undefined;
  if (cursor !== undefined && before === undefined) throw invalidQuery("cursor", "must be a next_cursor of ours");
  const most = Number(limit);
  if (!/^\d{1,3}$/.test(String(limit)) || most < 1 || most > 100) throw invalidQuery("limit", "must be 1 to 100");
  return { requestId, before, most };
}

function invalidQuery(name: string, rule: string): Problem {
  return new Problem("invalid_request", {
    detail: `The parameter ${name} ${rule}. Nothing was charged.`,
    members: { errors: [{ pointer: `#/${name}`, code: "invalid_parameter", detail: rule }] },
  });
}

/** Opaque on purpose: callers must not build one. It says where the last page ended, not whose it was. */
function toCursor(id: string): string {
  return Buffer.from(id.replaceAll("-", ""), "hex").toString("base64url");
}

function fromCursor(cursor: string): string | undefined {
  const hex = Buffer.from(cursor, "base64url").toString("hex");
  const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  return uuid.test(id) ? id : undefined;
}
