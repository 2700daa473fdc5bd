import { randomUUID } from "node:crypto";
import { Type } from "typebox";
import { asTenant } from "../db/as-tenant.ts";
import type { Pool } from "../db/pool.ts";
import { noSuchResource, type Resource, readPathId } from "../http/input/path-id.ts";
import { managementProblems, type Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import type { Guard } from "../keys/keys.ts";
import { formatUsd, type Micros } from "../lib/money.ts";
import type { Signer } from "../lib/sign-jws.ts";
import { Problem } from "../problems/problems.ts";
import { type Entry, readEntries, readSearch, readTopUps, serializeEntry } from "../wallet/wallet.ts";

export interface ReceiptRouteDependencies {
  tenant: Pool;
  guard: Guard;
  /** Undefined if no signing key is configured. */
  signer: Signer | undefined;
  /** The issuer of the receipts. */
  publicUrl: string;
}

/** The contents of a receipt for a search or a top-up, at the time it is signed. */
interface Statement {
  kind: "search" | "top_up";
  id: string;
  status: string;
  amount: Micros;
  entries: Entry[];
}

const receiptSchema = Type.Object(
  {
    receipt: Type.String({
      description:
        "A compact JWS (RFC 7515) signed with Ed25519. Its claims: `iss`, `iat`, `jti`, `sub` (the wallet), `kind` (`search` or `top_up`), `id`, `status`, `amount`, `currency` and `entries`, the ledger entries with microseconds. Verify it with `/.well-known/jwks.json`.",
    }),
  },
  { title: "Receipt" },
);

/** Signed receipts. They are made from the ledger's rows, so they also cover the hour that is still open. */
export function receiptRoutes(dependencies: ReceiptRouteDependencies): Route[] {
  return [searchReceiptRoute(dependencies), topUpReceiptRoute(dependencies)];
}

function searchReceiptRoute(dependencies: ReceiptRouteDependencies): Route {
  const { tenant } = dependencies;
  return {
    method: "GET",
    path: "/v1/searches/:id/receipt",
    scope: "wallet:read",
    operationId: "getSearchReceipt",
    tag: "Receipts",
    summary: "Get the receipt of a search",
    description:
      'Returns a signed receipt for a search, by Request-Id: its outcome, the amount charged ("0.00" if it was not charged), and its charge and refund. Returns 404 if the request was refused before a hold; it was not charged.',
    answer: receiptSchema,
    problems: ["not_found", "receipts_not_configured", ...managementProblems],
    handle: async (request, reply) => {
      const { walletId } = await dependencies.guard(request, reply, "wallet:read");
      return sign(dependencies, walletId, searchResource, request.params, async (id) => {
        const search = await readSearch(tenant, walletId, id);
        if (!search) return undefined;
        const entries = await readEntries(tenant, walletId, { requestId: id, limit: 10 });
        return { kind: "search", id: search.id, status: search.outcome, amount: search.charged, entries };
      });
    },
  };
}

function topUpReceiptRoute(dependencies: ReceiptRouteDependencies): Route {
  const { tenant } = dependencies;
  return {
    method: "GET",
    path: "/v1/wallet/top-ups/:id/receipt",
    scope: "wallet:read",
    operationId: "getTopUpReceipt",
    tag: "Receipts",
    summary: "Get the receipt of a top-up",
    description:
      'Returns a signed receipt for a top-up: its status, the amount credited ("0.00" if it was not paid), and the entry that credited it.',
    answer: receiptSchema,
    problems: ["not_found", "receipts_not_configured", ...managementProblems],
    handle: async (request, reply) => {
      const { walletId } = await dependencies.guard(request, reply, "wallet:read");
      return sign(dependencies, walletId, topUpResource, request.params, async (id) => {
        const [topUp] = await readTopUps(tenant, walletId, { id, limit: 1 });
        if (!topUp) return undefined;
        const entryId = await readTopUpEntryId(tenant, walletId, id);
        const entries = entryId ? await readEntries(tenant, walletId, { requestId: entryId, limit: 1 }) : [];
        const amount = entries.reduce((sum, entry) => sum + entry.amount, 0n);
        return { kind: "top_up", id: topUp.id, status: topUp.status, amount, entries };
      });
    },
  };
}

async function readTopUpEntryId(tenant: Pool, walletId: string, topUpId: string): Promise<string | null> {
  const { rows } = await asTenant(tenant, walletId, (db) =>
    db.query<{ id: string | null }>("select pb.own_top_up_entry($1) as id", [topUpId]),
  );
  return rows[0]?.id ?? null;
}

const searchResource: Resource = { name: "search", list: "GET /v1/searches" };
const topUpResource: Resource = { name: "top-up", list: "GET /v1/wallet/top-ups" };

async function sign(
  { signer, publicUrl }: ReceiptRouteDependencies,
  walletId: string,
  resource: Resource,
  params: unknown,
  read: (id: string) => Promise<Statement | undefined>,
): Promise<{ receipt: string }> {
  if (!signer) throw new Problem("receipts_not_configured");
  const statement = await read(readPathId(params, resource)).catch(unavailable);
  if (!statement) throw noSuchResource(resource);
  const { kind, id, status, amount, entries } = statement;
  const receipt = await signer.sign("pennyblack-receipt", {
    iss: publicUrl,
    iat: Math.floor(Date.now() / 1_000),
    jti: randomUUID(),
    sub: walletId,
    kind,
    id,
    status,
    amount: formatUsd(amount),
    currency: "usd",
    entries: entries.map((entry) => ({ ...serializeEntry(entry), created_at: entry.createdAtMicros })),
  });
  return { receipt };
}
