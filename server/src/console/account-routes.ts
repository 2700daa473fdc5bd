import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import { newAccount } from "../accounts/accounts.ts";
import { jsonReader } from "../http/read-json.ts";
import type { Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import { digestToken } from "../lib/token.ts";
import { Problem } from "../problems.ts";
import { type ConsoleParts, consoleRoute } from "./console-parts.ts";
import { enterConsole } from "./enter-console.ts";
import { showView } from "./session-view.ts";
import { showSession } from "./sessions.ts";

const readBody = jsonReader(
  Type.Object(
    {
      account_name: Type.String({
        maxLength: 100,
        pattern: "^[^\\x00-\\x1f\\x7f]*[^\\s\\x00-\\x1f\\x7f][^\\x00-\\x1f\\x7f]*$",
      }),
      person_name: Type.String({ maxLength: 200, pattern: "^[^\\x00-\\x1f\\x7f]*$" }),
    },
    { additionalProperties: false },
  ),
);

export function accountRoutes(parts: ConsoleParts): Route[] {
  return [consoleRoute({ method: "POST", path: "/console/api/accounts", handle: (...given) => open(parts, ...given) })];
}

async function open(parts: ConsoleParts, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const token = await enterConsole(parts, request, reply);
  const session = token === undefined ? undefined : await showSession(parts.people, token).catch(unavailable);
  if (token === undefined || !session) throw new Problem("session_required");
  if (!parts.isSignUpOpen) throw new Problem("sign_up_closed");
  const body = await readBody(request.raw);
  const { values } = newAccount(session.person.email, parts.trial);
  const { rows } = await parts.people
    .query<{ outcome: "done" | "session_required" | "too_many" }>(
      "select pb.open_own_account($1, $2, $3, $4, $5, $6, $7, $8) as outcome",
      [digestToken(token), body.person_name.trim(), body.account_name.trim(), ...values],
    )
    .catch(unavailable);
  const outcome = rows[0]?.outcome ?? "session_required";
  if (outcome === "session_required") throw new Problem("session_required");
  if (outcome === "too_many") {
    throw new Problem("sign_up_closed", { detail: "You own ten accounts, which is as many as a person may." });
  }
  reply.code(201);
  return showView(parts, token);
}
