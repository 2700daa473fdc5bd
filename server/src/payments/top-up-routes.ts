import { Type } from "typebox";
import type { Pool } from "../db/pool.ts";
import { type Fault, fieldFault, invalidHeader, invalidInput } from "../http/input/faults.ts";
import { readIdempotencyKey } from "../http/input/idempotency-key.ts";
import { paginate } from "../http/input/paginate.ts";
import { noSuchResource, type Resource, readPathId } from "../http/input/path-id.ts";
import { pageQuery, readQuery, toCursor } from "../http/input/query-parameters.ts";
import { jsonReader } from "../http/input/read-json.ts";
import { textPatterns } from "../http/input/text-patterns.ts";
import { managementProblems, nextCursor, pageParameters, type Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import type { Guard } from "../keys/keys.ts";
import { formatUsd, type Micros, parseUsd } from "../lib/money.ts";
import { hmacOf } from "../lib/secrets.ts";
import { Problem } from "../problems/problems.ts";
import {
  beginTopUp,
  type DataKeys,
  readTopUps,
  recordCheckout,
  recordCustomer,
  type TopUpView,
} from "../wallet/wallet.ts";
import type { PaymentProcessor } from "./payments.ts";
import { processorProblem } from "./processor-problem.ts";

export interface TopUpRouteDependencies {
  tenant: Pool;
  guard: Guard;
  /** Undefined if payments are not configured. */
  processor: PaymentProcessor | undefined;
  dataKeys: DataKeys;
  minAmount: Micros;
  maxAmount: Micros;
  /** Default page to return to after the checkout. */
  returnUrl: string;
}

const page = (description: string) =>
  Type.Optional(Type.String({ pattern: textPatterns.https, maxLength: 2_000, description }));

const requestSchema = Type.Object(
  {
    amount: Type.String({
      pattern: textPatterns.topUp,
      description: 'Amount in USD, in whole cents, such as "20.00".',
    }),
    success_url: page("Page to return to after payment."),
    cancel_url: page("Page to return to if the checkout is canceled."),
  },
  { additionalProperties: false, title: "CreateTopUpRequest" },
);
const readRequest = jsonReader(requestSchema);

const money = (description: string) =>
  Type.String({ description: `${description}, in USD as a decimal string.`, pattern: "^\\d+\\.\\d{2,6}$" });
const nullable = (format: string, description: string) =>
  Type.Union([Type.String({ format }), Type.Null()], { description });

const topUpSchema = Type.Object(
  {
    id: Type.String({ format: "uuid" }),
    status: Type.Enum(["pending", "succeeded", "failed", "expired", "refunded", "disputed"], {
      description: "`succeeded`: the wallet has been credited.",
    }),
    kind: Type.Enum(["checkout", "automatic"]),
    amount: money("Amount of the top-up"),
    refunded: money("Amount refunded"),
    currency: Type.Literal("usd"),
    checkout_url: nullable("uri", "Payment page, while the top-up is pending."),
    receipt_url: nullable("uri", "Receipt from the payment processor."),
    failure: Type.Union([Type.String(), Type.Null()], { description: "Decline or error code, if it failed." }),
    created_at: Type.String({ format: "date-time" }),
    expires_at: nullable("date-time", "When the checkout expires."),
    settled_at: nullable("date-time", "When it left the `pending` status."),
  },
  { title: "TopUp" },
);

const topUpsSchema = Type.Object(
  {
    top_ups: Type.Array(topUpSchema),
    next_cursor: nextCursor,
  },
  { title: "TopUpList" },
);

export function topUpRoutes(dependencies: TopUpRouteDependencies): Route[] {
  return [openRoute(dependencies), listRoute(dependencies), readRoute(dependencies)];
}

function openRoute(dependencies: TopUpRouteDependencies): Route {
  return {
    method: "POST",
    path: "/v1/wallet/top-ups",
    scope: "wallet:write",
    operationId: "createTopUp",
    tag: "Top-ups",
    summary: "Create a top-up",
    description:
      "Returns a top-up with a payment page for the wallet's owner. The wallet is credited once the payment succeeds. A retry with the same Idempotency-Key and body returns the same top-up.",
    requiredHeaders: { "Idempotency-Key": "1 to 255 printable ASCII characters, unique to this top-up." },
    requestBody: requestSchema,
    answer: topUpSchema,
    answerStatus: 201,
    answerHeaders: ["Idempotent-Replayed"],
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
      const caller = await dependencies.guard(request, reply, "wallet:write");
      const { walletId } = caller;
      if (!dependencies.processor) throw new Problem("payments_not_configured");
      const key = readIdempotencyKey(request.raw.headers["idempotency-key"] as string | undefined);
      if (key === undefined) throw invalidHeader("Idempotency-Key", "is required, so that a retry does not pay twice");
      const body = await readRequest(request.raw);
      const faults: Fault[] = [];
      const amount = readAmount(body.amount, dependencies, faults);
      checkPage(body.success_url, "success_url", faults);
      checkPage(body.cancel_url, "cancel_url", faults);
      if (faults.length > 0) throw invalidInput(faults);
      const { success_url: successUrl = dependencies.returnUrl, cancel_url: cancelUrl = dependencies.returnUrl } = body;
      const { topUp: hmacKey } = await dependencies.dataKeys.open(caller);
      const keyHmac = hmacOf({ key: hmacKey }, "key", key);
      const fingerprint = hmacOf(
        { key: hmacKey },
        "body",
        JSON.stringify([key, String(amount), successUrl, cancelUrl]),
      );
      const claim = { amount, keyHmac, fingerprint };
      const started = await beginTopUp(dependencies.tenant, walletId, claim).catch(unavailable);
      if (!started.isSame) throw new Problem("idempotency_key_reused", { detail: reusedDetail });
      if (started.checkoutUrl === null) {
        const topUp = { ...started, amount, successUrl, cancelUrl };
        await openCheckout(dependencies.tenant, dependencies.processor, walletId, topUp);
      }
      if (!started.isNew) reply.header("idempotent-replayed", "true");
      reply.code(201);
      return serializeTopUp(await readOne(dependencies.tenant, walletId, started.id));
    },
  };
}

function listRoute(dependencies: TopUpRouteDependencies): Route {
  return {
    method: "GET",
    path: "/v1/wallet/top-ups",
    scope: "wallet:read",
    operationId: "listTopUps",
    tag: "Top-ups",
    summary: "List top-ups",
    description: "Returns top-ups, newest first.",
    query: pageParameters,
    answer: topUpsSchema,
    problems: ["invalid_request", ...managementProblems],
    async handle(request, reply) {
      const { walletId } = await dependencies.guard(request, reply, "wallet:read");
      const { cursor, limit } = readQuery(request.query, pageQuery);
      const query = { before: cursor, limit: limit + 1 };
      const found = await readTopUps(dependencies.tenant, walletId, query).catch(unavailable);
      const listed = paginate(found, limit, (last) => toCursor(last.id));
      return { top_ups: listed.rows.map(serializeTopUp), next_cursor: listed.nextCursor };
    },
  };
}

function readRoute(dependencies: TopUpRouteDependencies): Route {
  return {
    method: "GET",
    path: "/v1/wallet/top-ups/:id",
    scope: "wallet:read",
    operationId: "getTopUp",
    tag: "Top-ups",
    summary: "Get a top-up",
    description: "Returns a top-up. Its status is `succeeded` once the wallet has been credited.",
    answer: topUpSchema,
    problems: ["not_found", ...managementProblems],
    async handle(request, reply) {
      const { walletId } = await dependencies.guard(request, reply, "wallet:read");
      return serializeTopUp(await readOne(dependencies.tenant, walletId, readPathId(request.params, topUpResource)));
    },
  };
}

const topUpResource: Resource = { name: "top-up", list: "GET /v1/wallet/top-ups" };

const reusedDetail =
  "This Idempotency-Key was used for a top-up with a different body. No top-up was started. Use a new key for a new top-up.";

/** Runs outside a transaction, because the processor may be slow. If interrupted, a retry with the same key resumes here. */
async function openCheckout(
  tenant: Pool,
  processor: PaymentProcessor,
  walletId: string,
  topUp: Awaited<ReturnType<typeof beginTopUp>> & { amount: Micros; successUrl: string; cancelUrl: string },
): Promise<void> {
  const { id: topUpId, amount, savesCard, successUrl, cancelUrl } = topUp;
  const createCustomer = async (): Promise<string> => {
    const created = await processor.createCustomer(walletId).catch(processorProblem);
    return recordCustomer(tenant, walletId, created).catch(unavailable);
  };
  const customerId = topUp.customerId ?? (await createCustomer());
  const checkout = await processor
    .createCheckout({ topUpId, walletId, customerId, amount, savesCard, successUrl, cancelUrl })
    .catch(processorProblem);
  const { id: checkoutId, url, expiresAt } = checkout;
  await recordCheckout(tenant, walletId, { topUpId, checkoutId, url, expiresAt }).catch(unavailable);
}

async function readOne(tenant: Pool, walletId: string, id: string): Promise<TopUpView> {
  const [found] = await readTopUps(tenant, walletId, { id, limit: 1 }).catch(unavailable);
  if (!found) throw noSuchResource(topUpResource);
  return found;
}

/** The amount of one top-up. Adds a fault if it is out of range. */
export function readAmount(text: string, limits: { minAmount: Micros; maxAmount: Micros }, faults: Fault[]): Micros {
  const { minAmount, maxAmount } = limits;
  const amount = parseUsd(text) ?? 0n;
  if (amount < minAmount || amount > maxAmount) {
    const detail = `must be from ${formatUsd(minAmount)} to ${formatUsd(maxAmount)} USD, but is ${formatUsd(amount)}`;
    faults.push(fieldFault("amount", detail, "out_of_range"));
  }
  return amount;
}

function checkPage(text: string | undefined, field: string, faults: Fault[]): void {
  if (text === undefined) return;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === "https:" && !url.username && !url.password) return;
  faults.push(fieldFault(field, "must be a valid https URL without a user name or password"));
}

function serializeTopUp(topUp: TopUpView) {
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
