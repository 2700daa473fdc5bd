import { createHmac, type KeyObject } from "node:crypto";
import { Type } from "typebox";
import type { Pool } from "../db/pool.ts";
import { cutPage } from "../http/cut-page.ts";
import { invalidHeader, readIdempotencyKey } from "../http/idempotency-key.ts";
import { isUuid, readCursor, readLimit, readParameters, toCursor } from "../http/query-parameters.ts";
import { invalidInput, jsonReader } from "../http/read-json.ts";
import { managementProblems, type Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import type { Enter } from "../keys/keys.ts";
import { formatUsd, type Micros, parseUsd } from "../lib/money.ts";
import { Problem } from "../problems.ts";
import { beginTopUp, noteCheckout, noteCustomer, readTopUps, type TopUpView } from "../wallet/wallet.ts";
import type { PaymentProcessor } from "./payments.ts";
import { processorProblem } from "./refusals.ts";

export interface TopUpRouteParts {
  tenant: Pool;
  enter: Enter;
  /** Nothing where the operator has not set up payments. */
  processor: PaymentProcessor | undefined;
  /** Names Idempotency-Keys without keeping them. */
  secret: KeyObject;
  least: Micros;
  most: Micros;
  /** Where the owner lands after paying, if the caller names no place. */
  returnUrl: string;
}

const amountPattern = "^\\d{1,6}(\\.\\d{1,2})?$";
const page = (description: string) =>
  Type.Optional(Type.String({ pattern: "^https://", maxLength: 2_000, description }));

const wishSchema = Type.Object(
  {
    amount: Type.String({ pattern: amountPattern, description: 'How much to add, in USD and whole cents: "20.00".' }),
    success_url: page("Where the owner lands after paying."),
    cancel_url: page("Where the owner lands who changes their mind."),
  },
  { additionalProperties: false },
);
const readWish = jsonReader(wishSchema);

const money = (description: string) =>
  Type.String({ description: `${description}, in USD as a decimal string.`, pattern: "^\\d+\\.\\d{2,6}$" });
const nullable = (format: string, description: string) =>
  Type.Union([Type.String({ format }), Type.Null()], { description });

const topUpSchema = Type.Object(
  {
    id: Type.String({ format: "uuid" }),
    status: Type.Enum(["pending", "succeeded", "failed", "expired", "refunded", "disputed"], {
      description: "The money is in the wallet when it is `succeeded`.",
    }),
    kind: Type.Enum(["checkout", "automatic"]),
    amount: money("What was asked for"),
    refunded: money("What was given back of it"),
    currency: Type.Literal("usd"),
    checkout_url: nullable("uri", "Where the owner pays, while it is pending."),
    receipt_url: nullable("uri", "The processor's receipt."),
    failure: Type.Union([Type.String(), Type.Null()], { description: "Why it failed, in a word." }),
    created_at: Type.String({ format: "date-time" }),
    expires_at: nullable("date-time", "When the checkout ends."),
    settled_at: nullable("date-time", "When it stopped being pending."),
  },
  { title: "TopUp" },
);

const topUpsSchema = Type.Object(
  {
    top_ups: Type.Array(topUpSchema),
    next_cursor: Type.Union([Type.String(), Type.Null()], { description: "Send it as `cursor` for the next page." }),
  },
  { title: "TopUps" },
);

export function topUpRoutes(parts: TopUpRouteParts): Route[] {
  return [openRoute(parts), listRoute(parts), readRoute(parts)];
}

function openRoute(parts: TopUpRouteParts): Route {
  return {
    method: "POST",
    path: "/v1/wallet/top-ups",
    scope: "wallet:write",
    summary: "Open a top-up",
    description:
      "Answers with a page where the wallet's owner pays. The wallet is credited when the processor has the money. The same Idempotency-Key and body answer the same top-up, for as long as it is kept.",
    requestHeaders: { "Idempotency-Key": "Required: 1 to 255 printable ASCII characters that name this top-up." },
    requestBody: wishSchema,
    answer: topUpSchema,
    answerStatus: 201,
    problems: [
      "malformed_json",
      "invalid_request",
      "payload_too_large",
      "unsupported_media_type",
      "idempotency_key_reused",
      "payment_processor_unavailable",
      "payments_not_configured",
      ...managementProblems,
    ],
    async handle(request, reply) {
      const { walletId } = await parts.enter(request, reply, "wallet:write");
      if (!parts.processor) throw new Problem("payments_not_configured");
      const key = readIdempotencyKey(request.raw.headers["idempotency-key"] as string | undefined);
      if (key === undefined)
        throw invalidHeader("Idempotency-Key", "it is required, so that a retry opens no second one");
      const wish = await readWish(request.raw);
      const amount = readAmount(wish.amount, parts);
      const successUrl = readPage(wish.success_url, "success_url") ?? parts.returnUrl;
      const cancelUrl = readPage(wish.cancel_url, "cancel_url") ?? parts.returnUrl;
      const name = (purpose: string, text: string): Buffer =>
        createHmac("sha256", parts.secret).update(`${purpose}\0${text}`).digest();
      const begun = await beginTopUp(parts.tenant, walletId, {
        amount,
        keyHmac: name("top-up key", `${walletId}/${key}`),
        fingerprint: name("top-up", JSON.stringify([String(amount), successUrl, cancelUrl])),
      }).catch(unavailable);
      if (!begun.isSame) throw new Problem("idempotency_key_reused", { detail: reusedDetail });
      const wanted = { ...begun, amount, successUrl, cancelUrl };
      if (begun.checkoutUrl === null) await openCheckout(parts.tenant, parts.processor, walletId, wanted);
      if (!begun.isNew) reply.header("idempotent-replayed", "true");
      reply.code(201);
      return showTopUp(await readOne(parts.tenant, walletId, begun.id));
    },
  };
}

function listRoute(parts: TopUpRouteParts): Route {
  return {
    method: "GET",
    path: "/v1/wallet/top-ups",
    scope: "wallet:read",
    summary: "List the wallet's top-ups",
    description: "Newest first.",
    query: {
      cursor: Type.String({ description: "From `next_cursor` of the page before." }),
      limit: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
    },
    answer: topUpsSchema,
    problems: ["invalid_request", ...managementProblems],
    async handle(request, reply) {
      const { walletId } = await parts.enter(request, reply, "wallet:read");
      const { cursor, limit } = readParameters(request.query, ["cursor", "limit"]);
      const most = readLimit(limit, { usual: 50, most: 100 });
      const wanted = { before: readCursor(cursor), most: most + 1 };
      const found = await readTopUps(parts.tenant, walletId, wanted).catch(unavailable);
      const { rows, nextCursor } = cutPage(found, most, (last) => toCursor(last.id));
      return { top_ups: rows.map(showTopUp), next_cursor: nextCursor };
    },
  };
}

function readRoute(parts: TopUpRouteParts): Route {
  return {
    method: "GET",
    path: "/v1/wallet/top-ups/:id",
    scope: "wallet:read",
    summary: "Read a top-up",
    description: "Its status is `succeeded` once the money is in the wallet.",
    answer: topUpSchema,
    problems: ["not_found", ...managementProblems],
    async handle(request, reply) {
      const { walletId } = await parts.enter(request, reply, "wallet:read");
      const { id } = request.params as { id: string };
      if (!isUuid(id)) throw new Problem("not_found");
      return showTopUp(await readOne(parts.tenant, walletId, id));
    },
  };
}

const reusedDetail =
  "This Idempotency-Key belongs to a top-up with another body. Nothing was charged. Use a new key for a new top-up.";

/** Outside of any transaction: the processor may take its time. Killed halfway, a retry with the same key goes on here. */
async function openCheckout(
  tenant: Pool,
  processor: PaymentProcessor,
  walletId: string,
  wanted: Awaited<ReturnType<typeof beginTopUp>> & { amount: Micros; successUrl: string; cancelUrl: string },
): Promise<void> {
  const { id: topUpId, amount, savesCard, successUrl, cancelUrl } = wanted;
  const customerId =
    wanted.customerId ??
    (await noteCustomer(tenant, walletId, await processor.createCustomer(walletId).catch(processorProblem)).catch(
      unavailable,
    ));
  const checkout = await processor
    .createCheckout({ topUpId, walletId, customerId, amount, savesCard, successUrl, cancelUrl })
    .catch(processorProblem);
  const { id: checkoutId, url, expiresAt } = checkout;
  await noteCheckout(tenant, walletId, { topUpId, checkoutId, url, expiresAt }).catch(unavailable);
}

async function readOne(tenant: Pool, walletId: string, id: string): Promise<TopUpView> {
  const [found] = await readTopUps(tenant, walletId, { id, most: 1 }).catch(unavailable);
  if (!found) throw new Problem("not_found");
  return found;
}

/** An amount that one top-up may have. */
export function readAmount(text: string, { least, most }: { least: Micros; most: Micros }, field = "amount"): Micros {
  const amount = parseUsd(text);
  if (amount !== undefined && amount >= least && amount <= most) return amount;
  const detail = `must be from ${formatUsd(least)} to ${formatUsd(most)}`;
  throw invalidInput([{ pointer: `#/${field}`, code: "out_of_range", detail }]);
}

function readPage(text: string | undefined, field: string): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === "https:" && !url.username && !url.password) return text;
  const detail = "must be an https address without credentials";
  throw invalidInput([{ pointer: `#/${field}`, code: "invalid", detail }]);
}

function showTopUp(topUp: TopUpView) {
  return {
    id: topUp.id,
    status: topUp.status,
    kind: topUp.kind,
    amount: formatUsd(topUp.amount),
    refunded: formatUsd(topUp.refunded),
    currency: "usd",
    checkout_url: topUp.status === "pending" ? topUp.checkoutUrl : null,
    receipt_url: topUp.receiptUrl,
    failure: topUp.failure,
    created_at: topUp.createdAt.toISOString(),
    expires_at: topUp.expiresAt?.toISOString() ?? null,
    settled_at: topUp.settledAt?.toISOString() ?? null,
  };
}
