import type { FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { AccountView } from "../accounts/accounts.ts";
import type { Pool } from "../db/pool.ts";
import { describeText, fieldFault, invalidInput } from "../http/input/faults.ts";
import { paginate } from "../http/input/paginate.ts";
import {
  anyText,
  cursorId,
  InvalidValue,
  isUuid,
  pageSize,
  readQuery,
  toCursor,
  uuidOf,
} from "../http/input/query-parameters.ts";
import { jsonReader } from "../http/input/read-json.ts";
import { textPatterns } from "../http/input/text-patterns.ts";
import type { OperatorRoute } from "../http/ops-server.ts";
import { formatUsd, type Micros, parseUsd } from "../lib/money.ts";
import { Problem } from "../problems/problems.ts";
import type { Margin, WalletDayRow, WalletMarginRow } from "../usage/usage.ts";
import { creditManually, listTransfers, type WalletSummary } from "../wallet/wallet.ts";
import { readFindQuery } from "./find-query.ts";
import {
  type AuditLine,
  find,
  readAudit,
  readChanges,
  recordView,
  refund,
  revokeAnyKey,
  setSuspended,
} from "./operator.ts";

export interface OperatorDependencies {
  db: Pool;
  listWallets(query: {
    ids?: readonly string[];
    name?: string;
    before?: string;
    limit: number;
  }): Promise<WalletSummary[]>;
  /** Newest first. */
  listAccounts(query: { limit: number }): Promise<AccountView[]>;
  readReconciliation(): Promise<unknown>;
  /** The total balance that customers can spend. */
  readTotalBalance(): Promise<Micros>;
  readMargin(days: { from: string; to: string }): Promise<Margin>;
  /** The highest cost, in total or of unpaid searches, first. */
  readWalletMargin(query: {
    from: string;
    to: string;
    order: "cost" | "unpaid";
    walletId?: string | undefined;
    limit: number;
  }): Promise<WalletMarginRow[]>;
  /** By day: each of these wallets, and the others in total. */
  readWalletDays(query: { from: string; to: string; walletIds: readonly string[] }): Promise<WalletDayRow[]>;
}

const reason = Type.String({ minLength: 1, maxLength: 500 });
const readReason = jsonReader(Type.Object({ reason }, { additionalProperties: false }));
const readCredit = jsonReader(
  Type.Object(
    {
      amount: Type.String(),
      kind: Type.Enum(["promotion", "invoice"]),
      reference: Type.String({ minLength: 1, maxLength: 200, pattern: textPatterns.printable }),
      reason,
    },
    { additionalProperties: false },
  ),
);

/** Operator API. The internal listener authenticates operators before it calls these handlers. */
export function operatorRoutes(dependencies: OperatorDependencies): OperatorRoute[] {
  const { db } = dependencies;
  return [
    { method: "GET", path: "accounts", handle: (request) => listAccounts(dependencies, request) },
    { method: "GET", path: "wallets", handle: (request) => listWallets(dependencies, request) },
    {
      method: "GET",
      path: "wallets/:id",
      handle: (request) => getWallet(dependencies, request),
    },
    {
      method: "POST",
      path: "wallets/:id/credit",
      handle: async (request, operator) => {
        const walletId = readId(request);
        const { amount: text, kind, reference, reason } = await readCredit(request.raw);
        const amount = parseUsd(text);
        if (!amount)
          throw invalidInput([fieldFault("amount", 'must be an amount in USD above 0, as a string such as "5.00"')]);
        const credit = { walletId, amount, kind: kind === "invoice" ? kind : "promotion", reference } as const;
        const { outcome, adjustmentId } = await creditManually(db, { ...credit, operator, reason });
        const [wallet] = await dependencies.listWallets({ ids: [walletId], limit: 1 });
        if (outcome === "unknown_wallet" || !wallet) return notFound();
        const answer = { outcome, balance: formatUsd(wallet.balance) };
        // A second operator approves it with `npm run admin -- adjust approve`.
        return outcome === "requested" ? { ...answer, adjustment_id: adjustmentId } : answer;
      },
    },
    ...(["suspend", "resume"] as const).map(
      (action): OperatorRoute => ({
        method: "POST",
        path: `wallets/:id/${action}`,
        handle: async (request, operator) => {
          const { reason } = await readReason(request.raw);
          const found = await setSuspended(db, { operator, reason }, readId(request), action === "suspend");
          return found ? { suspended: action === "suspend" } : notFound();
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
    { method: "GET", path: "find", handle: (request, operator) => find(db, { operator }, readFindQuery(request)) },
    { method: "GET", path: "margin", handle: (request) => getMargin(dependencies, request) },
    { method: "GET", path: "money", handle: () => getMoney(dependencies) },
    { method: "GET", path: "reconciliation", handle: () => dependencies.readReconciliation() },
    { method: "GET", path: "transfers", handle: async () => ({ transfers: await listTransfers(db) }) },
    { method: "GET", path: "wallets/:id/changes", handle: (request, operator) => listChanges(db, request, operator) },
    { method: "GET", path: "audit", handle: (request) => listAudit(db, request) },
  ];
}

async function listAccounts(dependencies: OperatorDependencies, request: FastifyRequest) {
  const { limit } = readQuery(request.query, { limit: operatorPage });
  const accounts = await dependencies.listAccounts({ limit });
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

async function getWallet(dependencies: OperatorDependencies, request: FastifyRequest) {
  const [wallet] = await dependencies.listWallets({ ids: [readId(request)], limit: 1 });
  return wallet ? serializeWallet(wallet) : notFound();
}

async function listWallets(dependencies: OperatorDependencies, request: FastifyRequest) {
  const parsers = { name: anyText, cursor: cursorId, limit: operatorPage };
  const { name, cursor: before, limit } = readQuery(request.query, parsers);
  const query = { ...(name && { name }), ...(before && { before }), limit: limit + 1 };
  const found = await dependencies.listWallets(query);
  const { rows, nextCursor } = paginate(found, limit, (last) => toCursor(last.id));
  return { wallets: rows.map(serializeWallet), next_cursor: nextCursor };
}

function serializeWallet({ id, name, balance, held, isSuspended, createdAt }: WalletSummary) {
  const money = { balance: formatUsd(balance), held: formatUsd(held), currency: "usd" };
  return { id, name, ...money, suspended: isSuspended, created_at: createdAt.toISOString() };
}

/** The wallets that are listed by day; the others are added up. */
const maxWalletSeries = 6;

/**
 * Cost and revenue per upstream and day, and per wallet and day. Default: the last 30 days and the 50 wallets that cost
 * most.
 */
async function getMargin(dependencies: OperatorDependencies, request: FastifyRequest) {
  const parsers = { from: calendarDay, to: calendarDay, wallet: walletIdOf };
  const { from = daysAgo(29), to = daysAgo(0), wallet } = readQuery(request.query, parsers);
  const period = { from, to, walletId: wallet };
  const [{ rows, charged }, wallets, unpaidWallets] = await Promise.all([
    dependencies.readMargin({ from, to }),
    dependencies.readWalletMargin({ ...period, order: "cost", limit: 50 }),
    dependencies.readWalletMargin({ ...period, order: "unpaid", limit: 10 }),
  ]);
  const walletIds = wallet ? [wallet] : wallets.slice(0, maxWalletSeries).map(({ walletId }) => walletId);
  const walletDays = await dependencies.readWalletDays({ from, to, walletIds });
  const nameOf = await readNames(dependencies, [...wallets, ...unpaidWallets]);
  const serializeWallets = (lines: readonly WalletMarginRow[]) =>
    lines.map((line) => ({ wallet_id: line.walletId, name: nameOf(line.walletId), ...serializeMargin(line) }));
  return {
    from,
    to,
    charged: formatUsd(charged),
    days: rows.map((row) => ({
      day: row.day,
      provider: row.provider,
      failures: row.failures,
      ...serializeMargin(row),
    })),
    wallets: serializeWallets(wallets),
    unpaid_wallets: serializeWallets(unpaidWallets.filter(({ unpaidCalls }) => unpaidCalls > 0)),
    wallet_days: walletDays
      .filter(({ walletId }) => wallet === undefined || walletId !== null)
      .map((row) => ({ day: row.day, wallet_id: row.walletId, ...serializeMargin(row) })),
  };
}

/** The liability to all customers, and the charges of the UTC day as far as usage has been counted. */
async function getMoney(dependencies: OperatorDependencies) {
  const today = daysAgo(0);
  const [balance, { charged }] = await Promise.all([
    dependencies.readTotalBalance(),
    dependencies.readMargin({ from: today, to: today }),
  ]);
  return { customer_balance: formatUsd(balance), charged_today: formatUsd(charged) };
}

async function readNames(
  dependencies: OperatorDependencies,
  wallets: readonly WalletMarginRow[],
): Promise<(id: string) => string | null> {
  const ids = [...new Set(wallets.map(({ walletId }) => walletId))];
  const found = await dependencies.listWallets({ ids, limit: ids.length });
  const names = new Map(found.map(({ id, name }) => [id, name]));
  return (id) => names.get(id) ?? null;
}

function serializeMargin(row: Omit<WalletMarginRow, "walletId">) {
  const { calls, unpaidCalls, abandonedCalls, cost, paidCost, revenue } = row;
  return {
    calls,
    unpaid_calls: unpaidCalls,
    abandoned_calls: abandonedCalls,
    revenue: formatUsd(revenue),
    cost: formatUsd(cost),
    paid_cost: formatUsd(paidCost),
    unpaid_cost: formatUsd(cost - paidCost),
    margin: formatUsd(revenue - cost),
  };
}

const operatorPage = pageSize({ default: 50, max: 200 });
const walletIdOf = uuidOf("the id of a wallet");

function calendarDay(text: string | undefined): string | undefined {
  if (text !== undefined && !isDay(text)) {
    throw new InvalidValue(`must be a day such as \`2030-01-31\`, but ${describeText(text)}`);
  }
  return text;
}

function lineNumber(cursor: string | undefined): bigint | undefined {
  if (cursor === undefined) return undefined;
  if (!/^\d{1,18}$/.test(cursor)) throw new InvalidValue("must be the `next_cursor` of an earlier page of this list");
  return BigInt(cursor);
}

/** Rejects 30 February, which JavaScript turns into March, and the year 0, which PostgreSQL does not have. */
function isDay(text: string): boolean {
  const day = new Date(/^[1-9]\d{3}-\d{2}-\d{2}$/.test(text) ? text : Number.NaN);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}

function daysAgo(days: number): string {
  return new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
}

async function listAudit(db: Pool, request: FastifyRequest) {
  const parsers = { wallet: walletIdOf, cursor: lineNumber, limit: operatorPage };
  const { wallet, cursor: before, limit } = readQuery(request.query, parsers);
  const found = await readAudit(db, { walletId: wallet, before, limit: limit + 1 });
  const { rows, nextCursor } = paginate(found, limit, (last) => String(last.number));
  return { lines: rows.map(serializeLine), next_cursor: nextCursor };
}

async function listChanges(db: Pool, request: FastifyRequest, operator: string) {
  const walletId = readId(request);
  const { cursor: before, limit } = readQuery(request.query, { cursor: lineNumber, limit: operatorPage });
  if (!(await recordView(db, { operator }, walletId))) return notFound();
  const found = await readChanges(db, { walletId, before, limit: limit + 1 });
  const { rows, nextCursor } = paginate(found, limit, (last) => String(last.number));
  return { changes: rows.map(serializeLine), next_cursor: nextCursor };
}

function serializeLine<Line extends Pick<AuditLine, "number" | "at" | "accountId" | "walletId">>({
  number,
  at,
  accountId,
  walletId,
  ...line
}: Line) {
  return { number: Number(number), at: at.toISOString(), account_id: accountId, wallet_id: walletId, ...line };
}

function readId(request: FastifyRequest): string {
  const { id } = request.params as { id: string };
  return isUuid(id) ? id : notFound();
}

function notFound(): never {
  throw new Problem("not_found", {
    detail: "This server has nothing with this id. No changes were made. Find wallets with `GET /operator/wallets`.",
  });
}
