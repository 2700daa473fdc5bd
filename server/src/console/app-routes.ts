import { Type } from "typebox";
import { findAmountFaults } from "../http/input/budget-amount.ts";
import { invalidInput } from "../http/input/faults.ts";
import { isUuid } from "../http/input/query-parameters.ts";
import { jsonReader } from "../http/input/read-json.ts";
import { textPatterns } from "../http/input/text-patterns.ts";
import type { Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import { formatUsd, parseUsd } from "../lib/money.ts";
import { digestToken } from "../lib/token.ts";
import { Problem } from "../problems/problems.ts";
import { apiRoutes, type ConsoleCall, type ConsoleDependencies, walletPath } from "./console-dependencies.ts";
import { guardWallet } from "./console-guard.ts";

// Apps connected with OAuth. Their budgets, uses and revocation belong to their keys, so the pages use the routes of keys
// for them. The database checks permissions again under the wallet lock.

const readSettings = jsonReader(
  Type.Object(
    {
      budget: Type.Object({ day: Type.String({ pattern: textPatterns.usd }) }, { additionalProperties: false }),
    },
    { additionalProperties: false },
  ),
);

interface AppList {
  has_identity: boolean;
  wallet_id: string | null;
  day_micros: string | null;
  apps: { key_id: string; client_id: string; email: string; you: boolean }[];
}

type AppOutcome =
  | "done"
  | "not_found"
  | "api_key_invalid"
  | "session_required"
  | "insufficient_role"
  | "account_suspended"
  | "reauthentication_required";

export function appRoutes(dependencies: ConsoleDependencies): Route[] {
  return apiRoutes(dependencies, [
    ["GET", `${walletPath}/apps`, getApps],
    ["PUT", `${walletPath}/apps`, turnOn],
    ["DELETE", `${walletPath}/apps`, turnOff],
    ["POST", `${walletPath}/apps/:id/allow`, allowAgain],
  ]);
}

/** The wallet's apps, and the settings of the signed-in person, which may name another wallet. */
async function getApps(call: ConsoleCall): Promise<unknown> {
  const { token, walletId } = await guardWallet(call);
  const { rows } = await call.dependencies.people
    .query<{ list: AppList | null }>("select pb.read_apps($1, $2) as list", [digestToken(token), walletId])
    .catch(unavailable);
  const list = rows[0]?.list;
  if (!list) throw new Problem("not_found");
  const { has_identity, wallet_id, day_micros: day, apps } = list;
  const settings = day === null ? null : { wallet_id, budget: { day: formatUsd(BigInt(day)) } };
  return { has_identity, settings, apps };
}

async function turnOn(call: ConsoleCall): Promise<unknown> {
  const { token, walletId } = await guardWallet(call);
  const { budget } = await readSettings(call.request.raw);
  const faults = findAmountFaults("budget/day", budget.day);
  if (faults.length > 0) throw invalidInput(faults);
  return changeApps(call, "pb.set_app_wallet($1, $2, $3)", [token, walletId, parseUsd(budget.day)]);
}

async function turnOff(call: ConsoleCall): Promise<unknown> {
  const { token, walletId } = await guardWallet(call);
  return changeApps(call, "pb.set_app_wallet($1, $2, null)", [token, walletId]);
}

async function allowAgain(call: ConsoleCall): Promise<unknown> {
  const { token, walletId } = await guardWallet(call);
  const { id } = call.request.params as { id: string };
  if (!isUuid(id)) throw appNotFound();
  return changeApps(call, "pb.forget_app($1, $2, $3)", [token, walletId, id]);
}

async function changeApps(
  { dependencies, reply }: ConsoleCall,
  sql: string,
  [token, ...values]: [token: string, ...values: unknown[]],
): Promise<unknown> {
  const { rows } = await dependencies.people
    .query<{ outcome: AppOutcome }>(`select ${sql} as outcome`, [digestToken(token), ...values])
    .catch(unavailable);
  const outcome = rows[0]?.outcome ?? "not_found";
  if (outcome === "not_found") throw appNotFound();
  // The session ended after guardWallet had found it.
  if (outcome === "api_key_invalid") throw new Problem("session_required");
  if (outcome !== "done") throw new Problem(outcome);
  return reply.code(204).send();
}

function appNotFound(): Problem {
  return new Problem("not_found", {
    detail: "The wallet has no disconnected app with this id. Nothing was changed.",
  });
}
