import type { FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { AccountView } from "../accounts/accounts.ts";
import type { Pool } from "../db/pool.ts";
import { cutPage } from "../http/cut-page.ts";
import type { OperatorRoute } from "../http/ops-server.ts";
import { invalidParameter, isUuid, readCursor, readLimit, readParameters, toCursor } from "../http/query-parameters.ts";
import { invalidInput, jsonReader } from "../http/read-json.ts";
import { formatUsd, parseUsd } from "../lib/money.ts";
import { Problem } from "../problems.ts";
import type { Margin } from "../usage/usage.ts";
import { creditByHand, type EntryOfWallet, type WalletSummary } from "../wallet/wallet.ts";
import { type AuditLine, readAudit, refund, revokeAnyKey, setSuspended } from "./operator.ts";

export interface OperatorParts {
  db: Pool;
  listWallets(wanted: { id?: string; name?: string; before?: string; most: number }): Promise<WalletSummary[]>;
  /** The newest first; with an address, those that this person is a member of. */
  listAccounts(wanted: { email?: string; most: number }): Promise<AccountView[]>;
  findEntries(requestId: string): Promise<EntryOfWallet[]>;
  readReconciliation(): Promise<unknown>;
  readMargin(days: { from: string; to: string }): Promise<Margin>;
}

const reason = Type.String({ minLength: 1, maxLength: 500 });
const readReason = jsonReader(Type.Object({ reason }, { additionalProperties: false }));
const readCredit = jsonReader(
  Type.Object(
    {
      amount: Type.String(),
      kind: Type.Enum(["promotion", "invoice"]),
      reference: Type.String({ minLength: 1, maxLength: 200, pattern: "^[\\x21-\\x7e]+$" }),
      reason,
    },
    { additionalProperties: false },
  ),
);

/** What an operator sees and does. The tokens are checked by the internal listener, before any of this. */
export function operatorRoutes(parts: OperatorParts): OperatorRoute[] {
  const { db } = parts;
  return [
    { method: "GET", path: "accounts", handle: (request) => showAccounts(parts, request) },
    { method: "GET", path: "wallets", handle: (request) => showWallets(parts, request) },
    {
      method: "GET",
      path: "wallets/:id",
      handle: async (request) => {
        const [wallet] = await parts.listWallets({ id: readId(request), most: 1 });
        return wallet ? showWallet(wallet) : notFound();
      },
    },
    {
      method: "POST",
      path: "wallets/:id/credit",
      handle: async (request, operator) => {
        const walletId = readId(request);
        const { amount: text, kind, reference, reason } = await readCredit(request.raw);
        const amount = parseUsd(text);
        if (!amount) throw invalidInput([{ pointer: "#/amount", code: "invalid", detail: "must be like 5.00" }]);
        const given = { walletId, amount, kind: kind === "invoice" ? kind : "promotion", reference } as const;
        const { outcome, balance } = await creditByHand(db, { ...given, operator, reason });
        if (outcome === "unknown_wallet") notFound();
        return { outcome, balance: formatUsd(balance) };
      },
    },
    ...(["suspend", "resume"] as const).map(
      (word): OperatorRoute => ({
        method: "POST",
        path: `wallets/:id/${word}`,
        handle: async (request, operator) => {
          const { reason } = await readReason(request.raw);
          const found = await setSuspended(db, { operator, reason }, readId(request), word === "suspend");
          return found ? { suspended: word === "suspend" } : notFound();
        },
      }),
    ),
    {
      method: "POST",
      path: "keys/:id/revoke",
      handle: async (request, operator) => {
        const { reason } = await readReason(request.raw);
        const outcome = await revokeAnyKey(db, { operator, reason }, readId(request));
        return outcome === "unknown_key" ? notFound() : { outcome };
      },
    },
    {
      method: "POST",
      path: "searches/:id/refund",
      handle: async (request, operator) => {
        const { reason } = await readReason(request.raw);
        const outcome = await refund(db, { operator, reason }, readId(request));
        return outcome === "not_captured" ? notFound() : { outcome };
      },
    },
    { method: "GET", path: "entries", handle: (request) => showEntries(parts, request) },
    { method: "GET", path: "margin", handle: (request) => showMargin(parts, request) },
    { method: "GET", path: "reconciliation", handle: () => parts.readReconciliation() },
    { method: "GET", path: "audit", handle: (request) => showAudit(db, request) },
  ];
}

async function showAccounts(parts: OperatorParts, request: FastifyRequest) {
  const { email, limit } = readParameters(request.query, ["email", "limit"]);
  const most = readLimit(limit, { usual: 50, most: 200 });
  const accounts = await parts.listAccounts({ ...(email && { email: email.toLowerCase() }), most });
  return {
    accounts: accounts.map(({ id, name, owners, wallets, createdAt, deletedAt }) => ({
      id,
      name,
      owners,
      wallets: wallets.map((wallet) => ({
        id: wallet.id,
        balance: formatUsd(wallet.balance),
        suspended: wallet.isSuspended,
      })),
      created_at: createdAt.toISOString(),
      deleted_at: deletedAt?.toISOString() ?? null,
    })),
  };
}

async function showWallets(parts: OperatorParts, request: FastifyRequest) {
  const { name, cursor, limit } = readParameters(request.query, ["name", "cursor", "limit"]);
  const most = readLimit(limit, { usual: 50, most: 200 });
  const before = readCursor(cursor);
  const found = await parts.listWallets({ ...(name && { name }), ...(before && { before }), most: most + 1 });
  const { rows, nextCursor } = cutPage(found, most, (last) => toCursor(last.id));
  return { wallets: rows.map(showWallet), next_cursor: nextCursor };
}

function showWallet({ id, name, balance, held, isSuspended, createdAt }: WalletSummary) {
  const money = { balance: formatUsd(balance), held: formatUsd(held), currency: "usd" };
  return { id, name, ...money, suspended: isSuspended, created_at: createdAt.toISOString() };
}

/** Answers "was this search charged, and was it given back?" from the Request-Id alone. */
async function showEntries(parts: OperatorParts, request: FastifyRequest) {
  const { request_id: requestId } = readParameters(request.query, ["request_id"]);
  if (!requestId || !isUuid(requestId)) throw invalidParameter("request_id", "must be a Request-Id");
  const entries = await parts.findEntries(requestId);
  return {
    entries: entries.map((entry) => ({
      id: entry.id,
      wallet_id: entry.walletId,
      kind: entry.kind,
      amount: formatUsd(entry.amount),
      created_at: entry.createdAt.toISOString(),
    })),
  };
}

/** What each upstream cost and brought, by day: the last thirty days unless told otherwise. */
async function showMargin(parts: OperatorParts, request: FastifyRequest) {
  const { from = dayBefore(29), to = dayBefore(0) } = readParameters(request.query, ["from", "to"]);
  for (const [name, day] of Object.entries({ from, to })) {
    if (!isDay(day)) throw invalidParameter(name, "must be a day such as 2030-01-31");
  }
  const { rows, charged } = await parts.readMargin({ from, to });
  return {
    from,
    to,
    charged: formatUsd(charged),
    days: rows.map(({ cost, revenue, ...row }) => ({
      ...row,
      cost: formatUsd(cost),
      revenue: formatUsd(revenue),
      margin: formatUsd(revenue - cost),
    })),
  };
}

/** To JavaScript, 30 February is a day of March, and the year 0 exists. To the database, neither does. */
function isDay(text: string): boolean {
  const day = new Date(/^[1-9]\d{3}-\d{2}-\d{2}$/.test(text) ? text : Number.NaN);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}

function dayBefore(days: number): string {
  return new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
}

async function showAudit(db: Pool, request: FastifyRequest) {
  const { wallet, cursor, limit } = readParameters(request.query, ["wallet", "cursor", "limit"]);
  if (wallet !== undefined && !isUuid(wallet)) throw invalidParameter("wallet", "must be an id");
  if (cursor !== undefined && !/^\d{1,18}$/.test(cursor))
    throw invalidParameter("cursor", "must be a next_cursor of ours");
  const most = readLimit(limit, { usual: 50, most: 200 });
  const before = cursor === undefined ? undefined : BigInt(cursor);
  const found = await readAudit(db, { walletId: wallet, before, most: most + 1 });
  const { rows, nextCursor } = cutPage(found, most, (last) => String(last.number));
  return { lines: rows.map(showLine), next_cursor: nextCursor };
}

function showLine({ at, operator, act, walletId, target, reason, outcome, details }: AuditLine) {
  return { at: at.toISOString(), operator, act, wallet_id: walletId, target, reason, outcome, details };
}

function readId(request: FastifyRequest): string {
  const { id } = request.params as { id: string };
  return isUuid(id) ? id : notFound();
}

function notFound(): never {
  throw new Problem("not_found");
}
