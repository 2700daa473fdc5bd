import { Type } from "typebox";
import type { Pool } from "../db/pool.ts";
import { findAmountFaults } from "../http/input/budget-amount.ts";
import { fieldFault, invalidInput } from "../http/input/faults.ts";
import { noSuchResource } from "../http/input/path-id.ts";
import { isUuid } from "../http/input/query-parameters.ts";
import { jsonReader } from "../http/input/read-json.ts";
import { textPatterns } from "../http/input/text-patterns.ts";
import { bodyProblems, managementProblems, type Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import { formatUsd, parseUsd } from "../lib/money.ts";
import { Problem } from "../problems/problems.ts";
import { type NewRequest, requestIncrease } from "../wallet/wallet.ts";
import { type BudgetRouteDependencies, budgetResource } from "./budget-routes.ts";
import { insufficientScope, type Principal } from "./keys.ts";
import { usd } from "./serialize-budget.ts";

// Requests of keys for a higher budget. People decide them in the console: server/src/console/budget-request-routes.ts.

/** There is no text, because a model would write the query into it. */
const requestSchema = Type.Object(
  {
    budget: Type.String({ maxLength: 36, description: "The id of a shared budget that the key names." }),
    amount: Type.String({
      pattern: textPatterns.usd,
      description: "USD to add to the amount of each period, at least 0.01.",
    }),
    hours: Type.Integer({ minimum: 1, maximum: 168, description: "How long the increase lasts once it is approved." }),
  },
  { additionalProperties: false, title: "CreateBudgetRequestRequest" },
);

const createdSchema = Type.Object(
  {
    id: Type.String({ format: "uuid" }),
    budget: Type.String({ format: "uuid" }),
    amount: usd,
    hours: Type.Integer(),
    state: Type.Literal("open"),
    url: Type.String({ format: "uri", description: "The page of the console where a person decides." }),
  },
  { title: "BudgetRequest" },
);

export function budgetRequestRoutes(dependencies: BudgetRouteDependencies & { publicUrl: string }): Route[] {
  const { tenant, guard, publicUrl } = dependencies;
  const readBody = jsonReader(requestSchema);
  return [
    {
      method: "POST",
      path: "/v1/key/budget-requests",
      scope: "budgets:request",
      operationId: "requestBudget",
      tag: "Budgets",
      summary: "Request a higher budget",
      description:
        "Asks a person to raise a shared budget of the key of this request for some hours. For a live budget, webhooks receive `budget.increase_requested` and the address for alerts gets an email. Owners and developers decide in the console. No API key can approve a request. A request is open for 7 days. Sending the same request again returns the open one. An approved increase is part of `limit` in `GET /v1/key` until it ends. Budgets per end user cannot be raised.",
      requestBody: requestSchema,
      answer: createdSchema,
      problems: ["not_found", "budget_requests_open", ...bodyProblems, ...managementProblems],
      handle: async (request, reply) => {
        const by = await guard(request, reply, "budgets:request");
        const { budget, amount: given, hours } = await readBody(request.raw);
        const faults = [
          ...findAmountFaults("amount", given),
          ...(isUuid(budget) ? [] : [fieldFault("budget", "must be the id of a shared budget, as in `GET /v1/key`")]),
        ];
        if (faults.length > 0) throw invalidInput(faults);
        const amount = parseUsd(given) ?? 0n;
        const id = await sendRequest(tenant, by, { budgetId: budget, amount, hours });
        const url = `${publicUrl}/console/w/${by.walletId}/budgets`;
        return { id, budget, amount: formatUsd(amount), hours, state: "open", url };
      },
    },
  ];
}

/** Returns the id of the request. */
export async function sendRequest(
  tenant: Pool,
  by: Pick<Principal, "walletId" | "keyId" | "mode">,
  request: NewRequest,
): Promise<string> {
  const { outcome, id = "" } = await requestIncrease(tenant, by, request).catch(unavailable);
  if (outcome === "not_found") throw noSuchResource({ ...budgetResource, list: "GET /v1/key" });
  if (outcome === "per_end_user") throw invalidInput([fieldFault("budget", perEndUserRule)]);
  if (outcome === "insufficient_scope") throw insufficientScope("budgets:request", by.mode);
  if (outcome !== "done") throw new Problem(outcome);
  return id;
}

const perEndUserRule = "must not be a budget per end user: an increase would apply to every end user";
