import { Type } from "typebox";
import { type Fault, fieldFault, invalidInput } from "../http/input/faults.ts";
import { jsonReader } from "../http/input/read-json.ts";
import { textPatterns } from "../http/input/text-patterns.ts";
import { bodyProblems, managementProblems, type Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import { formatUsd, type Micros, parseUsd } from "../lib/money.ts";
import { Problem } from "../problems/problems.ts";
import { type AutoTopUpView, deleteAutoTopUp, readAutoTopUp, setAutoTopUp } from "../wallet/wallet.ts";
import { processorProblem } from "./processor-problem.ts";
import { readAmount, type TopUpRouteDependencies } from "./top-up-routes.ts";

const amount = (description: string) => Type.String({ pattern: textPatterns.usdCents, description });

const settingsSchema = Type.Object(
  {
    threshold: amount("The wallet is topped up when its balance falls below this amount."),
    amount: amount("Amount of each top-up."),
    monthly_cap: amount("Maximum added per UTC month."),
    daily_cap: Type.Optional(amount("Maximum added per UTC day. Default: `monthly_cap`.")),
  },
  { additionalProperties: false, title: "SetAutoTopUpRequest" },
);
const readSettings = jsonReader(settingsSchema);

const nullable = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

const answerSchema = Type.Object(
  {
    state: Type.Enum(["none", "waiting_for_card", "active", "backing_off", "off"], {
      description:
        "`waiting_for_card`: the next paid checkout saves its card. `backing_off`: the card was declined, and the next attempt is at `next_attempt_at`. `off`: turned off after four declines. Set it again to resume.",
    }),
    threshold: nullable("The wallet is topped up when its balance falls below this amount."),
    amount: nullable("Amount of each top-up."),
    daily_cap: nullable("Maximum added per UTC day."),
    monthly_cap: nullable("Maximum added per UTC month."),
    added_this_month: nullable("Amount added automatically in this UTC month."),
    next_attempt_at: Type.Union([Type.String({ format: "date-time" }), Type.Null()]),
    currency: Type.Literal("usd"),
  },
  { title: "AutoTopUp" },
);

export function autoTopUpRoutes(dependencies: TopUpRouteDependencies): Route[] {
  const path = "/v1/wallet/auto-top-up";
  const respond = async (walletId: string) =>
    serializeAutoTopUp(await readAutoTopUp(dependencies.tenant, walletId).catch(unavailable));
  return [
    {
      method: "GET",
      path,
      scope: "wallet:read",
      operationId: "getAutoTopUp",
      tag: "Top-ups",
      summary: "Get the automatic top-up",
      description: "Returns the automatic top-up settings and their state.",
      answer: answerSchema,
      problems: managementProblems,
      async handle(request, reply) {
        const { walletId } = await dependencies.guard(request, reply, "wallet:read");
        return respond(walletId);
      },
    },
    {
      method: "PUT",
      path,
      scope: "wallet:write",
      operationId: "setAutoTopUp",
      tag: "Top-ups",
      summary: "Set the automatic top-up",
      description:
        "Charges a saved card when the balance falls below the threshold, within the caps. The next paid checkout saves the card. Setting it again also ends a back-off.",
      requestBody: settingsSchema,
      answer: answerSchema,
      problems: ["payments_not_configured", ...bodyProblems, ...managementProblems],
      async handle(request, reply) {
        const by = await dependencies.guard(request, reply, "wallet:write");
        if (!dependencies.processor) throw new Problem("payments_not_configured");
        const settings = await readSettings(request.raw);
        const faults: Fault[] = [];
        const topUpAmount = readAmount(settings.amount, dependencies, faults);
        const monthCap = readLimit(settings.monthly_cap, "monthly_cap", topUpAmount, faults);
        const { daily_cap: daily } = settings;
        const dayCap = daily === undefined ? monthCap : readLimit(daily, "daily_cap", topUpAmount, faults);
        const threshold = readLimit(settings.threshold, "threshold", 10_000n, faults);
        if (dayCap > monthCap) faults.push(outOfRange("daily_cap", "must not be more than `monthly_cap`"));
        if (faults.length > 0) throw invalidInput(faults);
        const limits = { threshold, amount: topUpAmount, dayCap, monthCap };
        await setAutoTopUp(dependencies.tenant, by, limits).catch(unavailable);
        return respond(by.walletId);
      },
    },
    {
      method: "DELETE",
      path,
      scope: "wallet:write",
      operationId: "deleteAutoTopUp",
      tag: "Top-ups",
      summary: "Delete the automatic top-up",
      description: "Stops automatic charges and removes the saved card from the payment processor.",
      answer: answerSchema,
      problems: ["payment_processor_unavailable", ...managementProblems],
      async handle(request, reply) {
        const by = await dependencies.guard(request, reply, "wallet:write");
        const { customerId } = await deleteAutoTopUp(dependencies.tenant, by).catch(unavailable);
        if (customerId !== null) await dependencies.processor?.detachCards(customerId).catch(processorProblem);
        return respond(by.walletId);
      },
    },
  ];
}

function readLimit(text: string, field: string, min: Micros, faults: Fault[]): Micros {
  const limit = parseUsd(text) ?? 0n;
  if (limit < min) {
    faults.push(outOfRange(field, `must be at least ${formatUsd(min)} USD, but is ${formatUsd(limit)}`));
  }
  return limit;
}

function outOfRange(field: string, detail: string): Fault {
  return fieldFault(field, detail, "out_of_range");
}

function serializeAutoTopUp(found: AutoTopUpView | undefined) {
  const usd = (value: Micros | undefined): string | null => (value === undefined ? null : formatUsd(value));
  return {
    state: found ? stateOf(found) : "none",
    threshold: usd(found?.threshold),
    amount: usd(found?.amount),
    daily_cap: usd(found?.dayCap),
    monthly_cap: usd(found?.monthCap),
    added_this_month: usd(found?.addedThisMonth),
    next_attempt_at: found && stateOf(found) === "backing_off" ? found.nextAttemptAt.toISOString() : null,
    currency: "usd",
  };
}

function stateOf(autoTopUp: AutoTopUpView): string {
  if (autoTopUp.isOff) return "off";
  if (!autoTopUp.hasCard) return "waiting_for_card";
  return autoTopUp.declines > 0 ? "backing_off" : "active";
}
