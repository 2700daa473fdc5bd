import { Type } from "typebox";
import type { Pool } from "../db/pool.ts";
import { maxBodyBytes, readBody } from "../http/input/read-body.ts";
import type { Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import { Problem } from "../problems/problems.ts";
import { applyPaymentUpdate } from "./apply-payment-update.ts";
import { BadSignature, type PaymentProcessor } from "./payments.ts";
import { processorProblem } from "./processor-problem.ts";

export interface WebhookRouteDependencies {
  /** Both are undefined if payments are not configured. The processor is also undefined without a webhook secret. */
  payments: Pool | undefined;
  processor: PaymentProcessor | undefined;
  /** Occupies a slot for a large webhook until the returned function is called. Throws if none is free. */
  enterWebhook: (address: string) => () => void;
}

/** Stripe's events have a few kilobytes. */
const maxBytes = 262_144;

/**
 * Webhook receiver of the payment processor, which retries for days until it gets a 2xx. A 2xx is sent only after the
 * event, the top-up and the money were committed in one transaction.
 */
export function webhookRoute(dependencies: WebhookRouteDependencies): Route {
  return {
    method: "POST",
    path: "/v1/payments/stripe/webhook",
    operationId: "receiveStripeEvent",
    tag: "Top-ups",
    summary: "Receive a Stripe event",
    description:
      "Called by Stripe. The body must be signed with the endpoint's secret. Unused event types are accepted and ignored.",
    requiredHeaders: { "Stripe-Signature": "Stripe's signature of the body." },
    requestBody: Type.Object({}, { additionalProperties: true, title: "StripeEvent" }),
    answer: Type.Object(
      { outcome: Type.String({ description: "How the event was applied." }) },
      { title: "StripeEventOutcome" },
    ),
    // Occupied below, only for a plausible signature and a large body.
    admission: "handler",
    problems: [
      "invalid_request",
      "payload_too_large",
      "unsupported_media_type",
      "concurrency_limited",
      "internal_error",
      "payment_processor_unavailable",
      "overloaded",
      "shutting_down",
      "ledger_unavailable",
      "payments_not_configured",
    ],
    async handle(request) {
      const { payments, processor } = dependencies;
      if (!payments || !processor) throw new Problem("payments_not_configured");
      const signature = String(request.raw.headers["stripe-signature"] ?? "");
      if (!processor.isPlausibleSignature(signature))
        throw badSignature("The Stripe-Signature header is missing, malformed or too old.");
      // Anyone can half-send a body. Up to the size of other bodies, that costs no more than half-sent headers.
      const isSmall = Number(request.raw.headers["content-length"]) <= maxBodyBytes;
      const leave = isSmall ? () => undefined : dependencies.enterWebhook(request.ip);
      try {
        const body = await readBody(request.raw, maxBytes);
        const event = await processor.readWebhook({ body, signature }).catch(throwProblem);
        const outcome = await applyPaymentUpdate(payments, event.update, event).catch(unavailable);
        request.log.info({ event: event.id, type: event.type, outcome }, "payment event received");
        return { outcome };
      } finally {
        leave();
      }
    },
  };
}

function throwProblem(cause: unknown): never {
  if (!(cause instanceof BadSignature)) processorProblem(cause);
  throw badSignature("The signature does not match the body.", cause);
}

function badSignature(fault: string, cause?: unknown): Problem {
  return new Problem("invalid_request", {
    detail: `${fault} Nothing was changed. Only the payment processor can send this event.`,
    members: { errors: [{ pointer: "#", code: "bad_signature", detail: fault }] },
    cause,
  });
}
