import { Type } from "typebox";
import { invalidParameter, readParameters } from "../http/query-parameters.ts";
import { managementProblems, type Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import { formatUsd } from "../lib/money.ts";
import { Problem } from "../problems.ts";
import { readWallet } from "../wallet/wallet.ts";
import { readSummary } from "./read-summary.ts";
import type { UsageRouteParts } from "./usage-routes.ts";

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
        "Every search that ended before this moment is counted. Now, or a few minutes ago for a very busy wallet.",
    }),
    balance: money("What was paid in less what was charged"),
    held: money("The part of the balance set aside for searches in flight"),
    available: money("What new searches can spend"),
    owed: money("What refunds and disputes of payments left owing"),
    burn_per_day: money(
      "What the last seven days (7 x 24 hours) were charged, divided by seven; by the days since the first charge if that is younger, but never by less than one",
    ),
    runway_days: Type.Union([Type.Number({ minimum: 0 }), Type.Null()], {
      description: "`available` divided by `burn_per_day`, to a tenth. Null if nothing was charged in seven days.",
    }),
    today: Type.Object({
      searches: count("Searches accepted since midnight UTC that have ended."),
      charged: money("What they were charged"),
      usual_searches_by_now: Type.Union([Type.Integer(), Type.Null()], {
        description:
          "How many there were by this time of the day, on average of the seven days before today, or of the days since the first search if that is younger. Null without such a day.",
      }),
    }),
    last_24h: Type.Object({
      searches: count("The sum of `hours`."),
      ok: count("Those that succeeded."),
      success_rate: Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()], {
        description:
          "`ok` of `searches`. A search whose caller left did not succeed; a refused request is not counted.",
      }),
      p50_ms: milliseconds(
        "From the hold on the price to the charge, half took at most so long: of the latest 1,000 that succeeded in 24 hours.",
      ),
      p95_ms: milliseconds("The same for 95 of 100."),
    }),
    hours: Type.Array(
      Type.Object({
        start: Type.String({ format: "date-time" }),
        searches: Type.Integer({ minimum: 0 }),
        ok: Type.Integer({ minimum: 0 }),
        charged: money("What they were charged"),
      }),
      { description: "The hour that is under way and the 23 before it, oldest first, in UTC." },
    ),
  },
  { title: "WalletSummary" },
);

/** What an owner wants to know first: how long the money lasts, whether today is as usual, whether it works. */
export function summaryRoutes({ tenant, enter }: UsageRouteParts): Route[] {
  return [
    {
      method: "GET",
      path: "/v1/wallet/summary",
      scope: "wallet:read",
      summary: "Summarize the wallet",
      description:
        "The balance and how long it lasts at the pace of the last week, today against the usual day, and the last 24 hours.",
      query: { mode: Type.Enum(["live", "test"], { default: "live", description: "Which searches are counted." }) },
      answer: summarySchema,
      problems: ["invalid_request", "not_found", ...managementProblems],
      handle: async (request, reply) => {
        const { walletId } = await enter(request, reply, "wallet:read");
        const { mode = "live" } = readParameters(request.query, ["mode"]);
        if (mode !== "live" && mode !== "test") throw invalidParameter("mode", "must be live or test");
        const wallet = await readWallet(tenant, walletId).catch(unavailable);
        if (!wallet) throw new Problem("not_found");
        const use = await readSummary(tenant, walletId, { mode, now: new Date() }).catch(unavailable);
        const available = wallet.balance - wallet.held;
        const { burnPerDay, today, last24 } = use;
        return {
          mode,
          currency: "usd",
          as_of: use.asOf.toISOString(),
          balance: formatUsd(wallet.balance),
          held: formatUsd(wallet.held),
          available: formatUsd(available),
          owed: formatUsd(wallet.owed),
          burn_per_day: formatUsd(burnPerDay),
          // Tenths of days, which are no money: a number will do.
          runway_days: burnPerDay === 0n ? null : Number((available * 10n) / burnPerDay) / 10,
          today: {
            searches: today.searches,
            charged: formatUsd(today.charged),
            usual_searches_by_now: today.usualByNow ?? null,
          },
          last_24h: {
            searches: last24.searches,
            ok: last24.ok,
            success_rate: last24.successRate ?? null,
            p50_ms: use.p50,
            p95_ms: use.p95,
          },
          hours: use.hours.map(({ start, searches, ok, charged }) => ({
            start: start.toISOString(),
            searches,
            ok,
            charged: formatUsd(charged),
          })),
        };
      },
    },
  ];
}
