import { Type } from "typebox";
import { oneOf, readQuery } from "../http/input/query-parameters.ts";
import { managementProblems, type Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import { formatUsd } from "../lib/money.ts";
import { Problem } from "../problems/problems.ts";
import { readWallet } from "../wallet/wallet.ts";
import { readSummary } from "./read-summary.ts";
import type { UsageRouteDependencies } from "./usage-routes.ts";

const money = (description: string) =>
  Type.String({ description: `${description}, in USD as a decimal string.`, pattern: "^\\d+\\.\\d{2,6}$" });
const count = (description: string) => Type.Integer({ minimum: 0, description });
const milliseconds = (description: string) => Type.Union([Type.Integer(), Type.Null()], { description });

const summarySchema = Type.Object(
  {
    mode: Type.Enum(["live", "test"]),
    currency: Type.Literal("usd"),
    as_of: Type.String({
      format: "date-time",
      description:
        "All searches that finished before this time are counted. It is the current time, or a few minutes earlier for a very busy wallet.",
    }),
    balance: money("Credits minus charges"),
    held: money("Part of the balance reserved for searches in flight"),
    available: money("Balance that new searches can spend"),
    owed: money("Debt left by refunded or disputed payments"),
    burn_per_day: money(
      "Average charges per day over the last 7 x 24 hours, or since the first charge if that is more recent (but at least one day)",
    ),
    runway_days: Type.Union([Type.Number({ minimum: 0 }), Type.Null()], {
      description:
        "`available` divided by `burn_per_day`, to one decimal. Null without charges in the last seven days, and in the first 24 hours after the first charge.",
    }),
    today: Type.Object({
      searches: count("Searches held since midnight UTC that have finished."),
      replays: count("Replays of an `Idempotency-Key` since midnight UTC."),
      refusals: count("Requests refused since midnight UTC, before their price was held."),
      charged: money("Total charged for them"),
      usual_searches_by_now: Type.Union([Type.Integer(), Type.Null()], {
        description:
          "Average number of searches by this time of day, over the previous seven days or since the first search. Null on the first day.",
      }),
    }),
    last_24h: Type.Object({
      searches: count("Total of `hours`."),
      succeeded: count("Searches that succeeded. The others failed."),
      replays: count("Requests answered from their `Idempotency-Key`."),
      refusals: count("Requests rejected before their price was held."),
      at_least: Type.Boolean({
        description:
          "There can be more replays and refusals, because a server crashed or had too many different ones to count.",
      }),
      success_rate: Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()], {
        description:
          "`succeeded` divided by `searches`. A search whose caller disconnected did not succeed. Replays and refusals do not count.",
      }),
      p50_ms: milliseconds(
        "Median time from the arrival of the request to the charge, over the latest 1,000 successful searches of the last 24 hours.",
      ),
      p95_ms: milliseconds("95th percentile of the same searches."),
    }),
    hours: Type.Array(
      Type.Object(
        {
          start: Type.String({ format: "date-time" }),
          searches: Type.Integer({ minimum: 0 }),
          succeeded: Type.Integer({ minimum: 0 }),
          replays: Type.Integer({ minimum: 0 }),
          refusals: Type.Integer({ minimum: 0 }),
          charged: money("Total charged for them"),
        },
        { title: "HourlySearches" },
      ),
      { description: "The current hour and the 23 before it, oldest first, in UTC." },
    ),
  },
  { title: "WalletSummary" },
);

export function summaryRoutes({ tenant, guard }: UsageRouteDependencies): Route[] {
  return [
    {
      method: "GET",
      path: "/v1/wallet/summary",
      scope: "wallet:read",
      operationId: "getWalletSummary",
      tag: "Wallet",
      summary: "Get a summary of the wallet",
      description:
        "Returns the balance, how many days it lasts at the current burn rate, today compared with a typical day, and the last 24 hours.",
      query: { mode: Type.Enum(["live", "test"], { default: "live", description: "Mode of the searches to count." }) },
      answer: summarySchema,
      problems: ["invalid_request", "not_found", ...managementProblems],
      handle: async (request, reply) => {
        const { walletId } = await guard(request, reply, "wallet:read");
        const { mode = "live" } = readQuery(request.query, { mode: oneOf(["live", "test"]) });
        const wallet = await readWallet(tenant, walletId).catch(unavailable);
        if (!wallet) throw new Problem("not_found");
        const use = await readSummary(tenant, walletId, { mode, now: new Date() }).catch(unavailable);
        const available = wallet.balance - wallet.held;
        const { burnPerDay, isBurnSteady, today, last24 } = use;
        return {
          mode,
          currency: "usd",
          as_of: use.asOf.toISOString(),
          balance: formatUsd(wallet.balance),
          held: formatUsd(wallet.held),
          available: formatUsd(available),
          owed: formatUsd(wallet.owed),
          burn_per_day: formatUsd(burnPerDay),
          // Tenths of days, not money: a floating-point number is exact enough.
          runway_days: isBurnSteady ? Number((available * 10n) / burnPerDay) / 10 : null,
          today: {
            searches: today.searches,
            replays: today.replays,
            refusals: today.refusals,
            charged: formatUsd(today.charged),
            usual_searches_by_now: today.typicalByNow ?? null,
          },
          last_24h: {
            searches: last24.searches,
            succeeded: last24.succeeded,
            replays: last24.replays,
            refusals: last24.refusals,
            at_least: use.isAtLeast,
            success_rate: last24.successRate ?? null,
            p50_ms: use.p50,
            p95_ms: use.p95,
          },
          hours: use.hours.map(({ start, searches, succeeded, replays, refusals, charged }) => ({
            start: start.toISOString(),
            searches,
            succeeded,
            replays,
            refusals,
            charged: formatUsd(charged),
          })),
        };
      },
    },
  ];
}
