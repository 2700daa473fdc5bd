import { isUuid } from "../http/input/query-parameters.ts";
import type { Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import { digestToken } from "../lib/token.ts";
import { Problem } from "../problems/problems.ts";
import { apiRoutes, type ConsoleCall, type ConsoleDependencies, walletPath } from "./console-dependencies.ts";
import { guardWallet } from "./console-guard.ts";

// Decisions about the requests of keys for a higher budget. They exist only here, behind a session: no API key can decide. The
// database checks the session, its age and the role again under the wallet lock.

type DecisionOutcome =
  | "done"
  | "not_found"
  | "api_key_invalid"
  | "session_required"
  | "insufficient_role"
  | "account_suspended"
  | "reauthentication_required";

interface Decision {
  outcome: DecisionOutcome;
  increase: object | null;
  replaced: object | null;
}

export function budgetRequestRoutes(dependencies: ConsoleDependencies): Route[] {
  return apiRoutes(dependencies, [
    ["GET", `${walletPath}/budget-requests`, list],
    ["POST", `${walletPath}/budget-requests/:id/approve`, (call) => decide(call, true)],
    ["POST", `${walletPath}/budget-requests/:id/deny`, (call) => decide(call, false)],
  ]);
}

async function list(call: ConsoleCall): Promise<unknown> {
  const { token, walletId } = await guardWallet(call);
  const { rows } = await call.dependencies.people
    .query<{ list: object | null }>("select pb.read_budget_requests($1, $2) as list", [digestToken(token), walletId])
    .catch(unavailable);
  const found = rows[0]?.list;
  if (!found) throw new Problem("not_found");
  return found;
}

/** `increase` is the one that applies now, and `replaced` the one that an approval has replaced. */
async function decide(call: ConsoleCall, isApproved: boolean): Promise<unknown> {
  const { token, walletId } = await guardWallet(call);
  const { id } = call.request.params as { id: string };
  if (!isUuid(id)) throw requestNotFound();
  const { rows } = await call.dependencies.people
    .query<{ decision: Decision }>("select pb.decide_budget_request($1, $2, $3, $4) as decision", [
      digestToken(token),
      walletId,
      id,
      isApproved,
    ])
    .catch(unavailable);
  const { outcome = "not_found", increase, replaced } = rows[0]?.decision ?? {};
  if (outcome === "not_found") throw requestNotFound();
  // The session ended after guardWallet had found it.
  if (outcome === "api_key_invalid") throw new Problem("session_required");
  if (outcome !== "done") throw new Problem(outcome);
  return { increase, replaced };
}

function requestNotFound(): Problem {
  return new Problem("not_found", {
    detail: "The wallet has no open request with this id. It may have been decided. Nothing was changed.",
  });
}
