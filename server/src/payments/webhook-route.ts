import { Type } from "typebox";
import type { Pool } from "../db/pool.ts";
import { readBody } from "../http/read-body.ts";
import type { Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import { Problem } from "../problems.ts";
import { applyNews } from "./apply-news.ts";
import { BadSignature, type PaymentProcessor } from "./payments.ts";
import { processorProblem } from "./refusals.ts";

export interface WebhookRouteParts {
  tenant: Pool;
  /** Nothing where the operator has not set up payments, or no secret to check signatures with. */
  processor: PaymentProcessor | undefined;
}

const mostBytes = 1_048_576;

/**
 * Where the processor tells us what happened. Whatever is not a 2xx is told again, for days, so an answer says that it
 * is written down: the event, the top-up and the money are one transaction.
 */
export function webhookRoute(parts: WebhookRouteParts): Route {
  return {
    method: "POST",
    path: "/v1/payments/stripe/webhook",
    summary: "Receive an event of the payment processor",
    description:
      "For Stripe alone: the body must be signed with the endpoint's secret. Events we do not use are accepted.",
    requestHeaders: { "Stripe-Signature": "The processor's signature of the body." },
    requestBody: Type.Object({}, { additionalProperties: true }),
    answer: Type.Object({ outcome: Type.String({ description: "What became of it." }) }, { title: "WebhookReceipt" }),
    problems: [
      "invalid_request",
      "payload_too_large",
      "unsupported_media_type",
      "internal_error",
      "payment_processor_unavailable",
      "ledger_unavailable",
      "payments_not_configured",
    ],
    async handle(request) {
      const { processor } = parts;
      if (!processor) throw new Problem("payments_not_configured");
      const body = await readBody(request.raw, mostBytes);
      const signature = String(request.raw.headers["stripe-signature"] ?? "");
      const event = await processor.readWebhook({ body, signature }).catch(explain);
      const outcome = await applyNews(parts.tenant, event.news, event).catch(unavailable);
      request.log.info({ event: event.id, type: event.type, outcome }, "heard of a payment");
      return { outcome };
    },
  };
}

function explain(cause: unknown): never {
  if (!(cause instanceof BadSignature)) processorProblem(cause);
  throw new Problem("invalid_request", {
    detail: "The signature does not fit the body. Nothing was changed. Only the payment processor can send this.",
    members: { errors: [{ pointer: "#", code: "bad_signature", detail: "the signature does not fit the body" }] },
    cause,
  });
}
