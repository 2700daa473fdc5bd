import { Type } from "typebox";
import { invalidInput, jsonReader } from "../http/read-json.ts";
import { managementProblems, type Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import { formatUsd, type Micros, parseUsd } from "../lib/money.ts";
import { Problem } from "../problems.ts";
import { type AutoTopUpView, dropAutoTopUp, readAutoTopUp, setAutoTopUp } from "../wallet/wallet.ts";
import { processorProblem } from "./refusals.ts";
import { readAmount, type TopUpRouteParts } from "./top-up-routes.ts";

const amount = (description: string) => Type.String({ pattern: "^\\d{1,9}(\\.\\d{1,2})?$", description });

const orderSchema = Type.Object(
  {
    threshold: amount("Below this balance the wallet is topped up."),
    amount: amount("How much is added each time."),
    monthly_cap: amount("The most that is added in a UTC month."),
    daily_cap: Type.Optional(amount("The most that is added in a UTC day; as in a month if it is missing.")),
  },
  { additionalProperties: false },
);
const readOrder = jsonReader(orderSchema);

const nullable = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

const answerSchema = Type.Object(
  {
    state: Type.Enum(["none", "waiting_for_card", "active", "backing_off", "off"], {
      description:
        "`waiting_for_card`: the next top-up that the owner pays at a checkout leaves its card for this. `backing_off`: the card was declined, see `next_attempt_at`. `off`: declined four times; set it again.",
    }),
    threshold: nullable("Below this balance the wallet is topped up."),
    amount: nullable("How much is added each time."),
    daily_cap: nullable("The most that is added in a UTC day."),
    monthly_cap: nullable("The most that is added in a UTC month."),
    added_this_month: nullable("What it has added in this UTC month."),
    next_attempt_at: Type.Union([Type.String({ format: "date-time" }), Type.Null()]),
    currency: Type.Literal("usd"),
  },
  { title: "AutoTopUp" },
);

export function autoTopUpRoutes(parts: TopUpRouteParts): Route[] {
  const path = "/v1/wallet/auto-top-up";
  const show = async (walletId: string) =>
    showAutoTopUp(await readAutoTopUp(parts.tenant, walletId).catch(unavailable));
  return [
    {
      method: "GET",
      path,
      scope: "wallet:read",
      summary: "Read the automatic top-up",
      description: "What happens by itself when the balance is low.",
      answer: answerSchema,
      problems: managementProblems,
      async handle(request, reply) {
        const { walletId } = await parts.enter(request, reply, "wallet:read");
        return show(walletId);
      },
    },
    {
      method: "PUT",
      path,
      scope: "wallet:write",
      summary: "Set the automatic top-up",
      description:
        "Charges a saved card when the balance falls below the threshold, within the caps. A card is saved by the next checkout that the owner pays. Setting it again also ends a back-off.",
      requestBody: orderSchema,
      answer: answerSchema,
      problems: [
        "malformed_json",
        "invalid_request",
        "payload_too_large",
        "unsupported_media_type",
        "payments_not_configured",
        ...managementProblems,
      ],
      async handle(request, reply) {
        const { walletId } = await parts.enter(request, reply, "wallet:write");
        if (!parts.processor) throw new Problem("payments_not_configured");
        const order = await readOrder(request.raw);
        const each = readAmount(order.amount, parts);
        const monthCap = readLimit(order.monthly_cap, "monthly_cap", each);
        const dayCap = order.daily_cap === undefined ? monthCap : readLimit(order.daily_cap, "daily_cap", each);
        const threshold = readLimit(order.threshold, "threshold", 10_000n);
        if (dayCap > monthCap) throw outOfRange("daily_cap", "must not be more than monthly_cap");
        await setAutoTopUp(parts.tenant, walletId, { threshold, amount: each, dayCap, monthCap }).catch(unavailable);
        return show(walletId);
      },
    },
    {
      method: "DELETE",
      path,
      scope: "wallet:write",
      summary: "End the automatic top-up",
      description: "Nothing is charged by itself any more, and the processor forgets the saved card.",
      answer: answerSchema,
      problems: ["payment_processor_unavailable", ...managementProblems],
      async handle(request, reply) {
        const { walletId } = await parts.enter(request, reply, "wallet:write");
        const { customerId } = await dropAutoTopUp(parts.tenant, walletId).catch(unavailable);
        if (customerId !== null) await parts.processor?.forgetCards(customerId).catch(processorProblem);
        return show(walletId);
      },
    },
  ];
}

function readLimit(text: string, field: string, least: Micros): Micros {
  const limit = parseUsd(text);
  if (limit === undefined || limit < least) throw outOfRange(field, `must be at least ${formatUsd(least)}`);
  return limit;
}

function outOfRange(field: string, detail: string): Problem {
  return invalidInput([{ pointer: `#/${field}`, code: "out_of_range", detail }]);
}

function showAutoTopUp(order: AutoTopUpView | undefined) {
  const usd = (value: Micros | undefined): string | null => (value === undefined ? null : formatUsd(value));
  return {
    state: order ? stateOf(order) : "none",
    threshold: usd(order?.threshold),
    amount: usd(order?.amount),
    daily_cap: usd(order?.dayCap),
    monthly_cap: usd(order?.monthCap),
    added_this_month: usd(order?.addedThisMonth),
    next_attempt_at: order && stateOf(order) === "backing_off" ? order.nextAttemptAt.toISOString() : null,
    currency: "usd",
  };
}

function stateOf(order: AutoTopUpView): string {
  if (order.isOff) return "off";
  if (!order.hasCard) return "waiting_for_card";
  return order.declines > 0 ? "backing_off" : "active";
}
