import { Type } from "typebox";
import { asTenant } from "../db/as-tenant.ts";
import { invalidInput, jsonReader } from "../http/read-json.ts";
import { bodyProblems, managementProblems, type Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import { formatUsd, parseUsd } from "../lib/money.ts";
import { Problem } from "../problems.ts";
import { readAlerts, setAlerts } from "./alerts.ts";
import type { WalletRouteParts } from "./wallet-routes.ts";

const alertsSchema = Type.Object(
  {
    email: Type.Union([Type.String({ minLength: 3, maxLength: 254 }), Type.Null()], {
      description: "Who is told by e-mail, where the operator has set up mail. Null: nobody.",
    }),
    low_balance: Type.Union([Type.String({ pattern: "^\\d{1,9}(\\.\\d{1,6})?$" }), Type.Null()], {
      description: "Below this balance, in USD, the owner is told, at most once an hour. Null: never.",
    }),
  },
  { title: "WalletAlerts", additionalProperties: false },
);
const readAlertsBody = jsonReader(alertsSchema);

export function alertRoutes(parts: WalletRouteParts): Route[] {
  return [
    {
      method: "GET",
      path: "/v1/wallet/alerts",
      scope: "wallet:read",
      summary: "Read the wallet's alerts",
      description: "When the owner is warned of a low balance, and at which address.",
      answer: alertsSchema,
      problems: ["not_found", ...managementProblems],
      handle: async (request, reply) => {
        const { walletId } = await parts.enter(request, reply, "wallet:read");
        const alerts = await asTenant(parts.tenant, walletId, (db) => readAlerts(db, walletId)).catch(unavailable);
        if (!alerts) throw new Problem("not_found");
        const { email, lowBalance } = alerts;
        return { email, low_balance: lowBalance === null ? null : formatUsd(lowBalance) };
      },
    },
    {
      method: "PUT",
      path: "/v1/wallet/alerts",
      scope: "wallet:write",
      summary: "Set the wallet's alerts",
      description:
        "Both fields are set; null switches one off. A balance that is already below is told of at once. Webhooks get the event `wallet.low_balance` too.",
      requestBody: alertsSchema,
      answer: alertsSchema,
      problems: ["not_found", ...bodyProblems, ...managementProblems],
      handle: async (request, reply) => {
        const { walletId } = await parts.enter(request, reply, "wallet:write");
        const { email, low_balance: wanted } = await readAlertsBody(request.raw);
        if (email !== null && !isAddress(email)) {
          throw invalidInput([{ pointer: "#/email", code: "invalid", detail: "must be one e-mail address" }]);
        }
        const lowBalance = wanted === null ? null : (parseUsd(wanted) ?? 0n);
        if (lowBalance !== null && lowBalance <= 0n) {
          throw invalidInput([{ pointer: "#/low_balance", code: "out_of_range", detail: "must be more than 0" }]);
        }
        if (!(await setAlerts(parts.tenant, walletId, { email, lowBalance }).catch(unavailable))) {
          throw new Problem("not_found");
        }
        return { email, low_balance: lowBalance === null ? null : formatUsd(lowBalance) };
      },
    },
  ];
}

/** One address and nothing that a mail program could read as more: no names, lists, comments or line breaks. */
function isAddress(text: string): boolean {
  return /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[a-z0-9-]+(\.[a-z0-9-]+)+$/i.test(text);
}
