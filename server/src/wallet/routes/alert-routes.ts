import { Type } from "typebox";
import { asTenant } from "../../db/as-tenant.ts";
import { type Fault, fieldFault, invalidInput } from "../../http/input/faults.ts";
import { jsonReader } from "../../http/input/read-json.ts";
import { textPatterns } from "../../http/input/text-patterns.ts";
import { bodyProblems, managementProblems, type Route } from "../../http/route.ts";
import { unavailable } from "../../http/unavailable.ts";
import { formatUsd, parseUsd } from "../../lib/money.ts";
import { Problem } from "../../problems/problems.ts";
import { readAlerts, setAlerts } from "../alerts.ts";
import type { WalletRouteDependencies } from "./wallet-routes.ts";

const alertsSchema = Type.Object(
  {
    email: Type.Union([Type.String({ minLength: 3, maxLength: 254 }), Type.Null()], {
      description:
        "Address that receives alerts about the balance, shared budgets and webhooks, if the operator has configured email. Null for no email.",
    }),
    low_balance: Type.Union([Type.String({ pattern: textPatterns.usd }), Type.Null()], {
      description: "Alert when the balance falls below this amount, in USD, at most once an hour. Null for no alert.",
    }),
  },
  { title: "AlertSettings", additionalProperties: false },
);
const readAlertsBody = jsonReader(alertsSchema);

export function alertRoutes(dependencies: WalletRouteDependencies): Route[] {
  return [
    {
      method: "GET",
      path: "/v1/wallet/alerts",
      scope: "wallet:read",
      operationId: "getAlerts",
      tag: "Wallet",
      summary: "Get the alert settings",
      description: "Returns the low-balance threshold and the alert email address.",
      answer: alertsSchema,
      problems: ["not_found", ...managementProblems],
      handle: async (request, reply) => {
        const { walletId } = await dependencies.guard(request, reply, "wallet:read");
        const alerts = await asTenant(dependencies.tenant, walletId, (db) => readAlerts(db, walletId)).catch(
          unavailable,
        );
        if (!alerts) throw new Problem("not_found");
        const { email, lowBalance } = alerts;
        return { email, low_balance: lowBalance === null ? null : formatUsd(lowBalance) };
      },
    },
    {
      method: "PUT",
      path: "/v1/wallet/alerts",
      scope: "wallet:write",
      operationId: "setAlerts",
      tag: "Wallet",
      summary: "Set the alert settings",
      description:
        "Replaces both fields. Null turns an alert off. If the balance is already below the threshold, the alert is sent immediately. Webhook endpoints subscribed to `wallet.low_balance` receive the event as well.",
      requestBody: alertsSchema,
      answer: alertsSchema,
      problems: ["not_found", ...bodyProblems, ...managementProblems],
      handle: async (request, reply) => {
        const by = await dependencies.guard(request, reply, "wallet:write");
        const { email, low_balance: text } = await readAlertsBody(request.raw);
        const faults: Fault[] = [];
        if (email !== null && !isAddress(email)) {
          faults.push(fieldFault("email", "must be one email address such as `ada@example.org`, or null"));
        }
        const lowBalance = text === null ? null : (parseUsd(text) ?? 0n);
        if (lowBalance !== null && lowBalance <= 0n) {
          const detail = "must be more than 0.00 USD, but is 0.00; send null for no alert";
          faults.push(fieldFault("low_balance", detail, "out_of_range"));
        }
        if (faults.length > 0) throw invalidInput(faults);
        if (!(await setAlerts(dependencies.tenant, by, { email, lowBalance }).catch(unavailable))) {
          throw new Problem("not_found");
        }
        return { email, low_balance: lowBalance === null ? null : formatUsd(lowBalance) };
      },
    },
  ];
}

/** A bare address without display name, list, comment or line break, so that it cannot inject mail headers. */
function isAddress(text: string): boolean {
  return /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[a-z0-9-]+(\.[a-z0-9-]+)+$/i.test(text);
}
