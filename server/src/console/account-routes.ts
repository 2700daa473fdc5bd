import { Type } from "typebox";
import { hashTrialAddress, newAccount } from "../accounts/accounts.ts";
import { jsonReader } from "../http/input/read-json.ts";
import { textPatterns } from "../http/input/text-patterns.ts";
import type { Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import { digestToken } from "../lib/token.ts";
import { Problem } from "../problems/problems.ts";
import { apiRoutes, type ConsoleCall, type ConsoleDependencies } from "./console-dependencies.ts";
import { guardConsole } from "./console-guard.ts";
import { serializeSession } from "./serialize-session.ts";
import { readSession } from "./sessions.ts";

const readBody = jsonReader(
  Type.Object(
    {
      account_name: Type.String({
        maxLength: 100,
        pattern: textPatterns.visibleName,
      }),
      person_name: Type.String({ maxLength: 200, pattern: textPatterns.name }),
    },
    { additionalProperties: false },
  ),
);

export function accountRoutes(dependencies: ConsoleDependencies): Route[] {
  return apiRoutes(dependencies, [["POST", "/console/api/accounts", createAccount]]);
}

async function createAccount(call: ConsoleCall): Promise<unknown> {
  const { dependencies, request, reply } = call;
  const token = await guardConsole(call);
  const session = token === undefined ? undefined : await readSession(dependencies.people, token).catch(unavailable);
  if (token === undefined || !session) throw new Problem("session_required");
  if (!dependencies.isSignUpOpen) throw new Problem("sign_up_closed");
  const body = await readBody(request.raw);
  const { people, secrets } = dependencies;
  const address = await hashTrialAddress(people, secrets, session.person.email).catch(unavailable);
  const { values } = newAccount(address);
  const { rows } = await dependencies.people
    .query<{ outcome: "done" | "session_required" | "too_many" }>(
      "select pb.open_own_account($1, $2, $3, $4, $5, $6) as outcome",
      [digestToken(token), body.person_name.trim(), body.account_name.trim(), ...values],
    )
    .catch(unavailable);
  const outcome = rows[0]?.outcome ?? "session_required";
  if (outcome === "session_required") throw new Problem("session_required");
  if (outcome === "too_many") {
    throw new Problem("sign_up_closed", { detail: "You already own ten accounts, which is the limit." });
  }
  reply.code(201);
  return serializeSession(dependencies, token);
}
