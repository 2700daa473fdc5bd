import type { Role } from "../accounts/accounts.ts";
import { isUuid } from "../http/input/query-parameters.ts";
import { isReading } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import type { Guard, Scope } from "../keys/keys.ts";
import { networkOf } from "../lib/network-of.ts";
import { digestToken } from "../lib/token.ts";
import { Problem } from "../problems/problems.ts";
import { type ConsoleCall, type ConsoleDependencies, walletPath } from "./console-dependencies.ts";
import { rejectForgedRequest } from "./csrf.ts";

// Authenticates sessions on /console/api and checks the member's role. Nothing is cached between requests: an ended
// session or a removed member is rejected on the next request.

/** Returns the session token, if any. Rejects forged requests and applies the network's rate limit. */
export async function guardConsole({ dependencies, request, reply }: ConsoleCall): Promise<string | undefined> {
  rejectForgedRequest(request, dependencies.publicUrl);
  // Before any database query.
  await dependencies.limitNetwork(networkOf(request.ip), reply);
  const token = dependencies.cookie.read(request.raw);
  return token !== undefined && /^[\w-]{43}$/.test(token) ? token : undefined;
}

export interface WalletSession {
  token: string;
  sessionId: string;
  personId: string;
  walletId: string;
  role: Role;
}

interface Requirement {
  role: Role;
  /** Creates credentials or changes who has access, so the sign-in must be recent. */
  requiresFresh: boolean;
  /** Moves no money, so it is allowed while the wallet is suspended. */
  allowsSuspended: boolean;
}

const freshRoutes = new Set([
  "POST /keys",
  "POST /keys/:id/rotate",
  "POST /webhooks",
  // May change the URL.
  "PATCH /webhooks/:id",
  "POST /webhooks/:id/rotate-secret",
  "PUT /wallet/auto-top-up",
  "POST /invitations",
  "PATCH /members/:personId",
  "DELETE /members/:personId",
  "PUT /apps",
  "POST /apps/:id/allow",
  "POST /budget-requests/:id/approve",
]);

/** All roles read, developers and owners write, and only owners change the team. */
function requirementOf(method: string, path: string): Requirement {
  const name = `${method} ${path}`;
  const isTeam = /^\/(?:members|invitations)(?:\/|$)/.test(path);
  const isRead = isReading(method);
  // The playground route checks that viewers use a test key.
  const isForViewers = isRead || name === "POST /playground/search";
  const writeRole: Role = isTeam ? "owner" : "developer";
  return {
    role: isForViewers ? "viewer" : writeRole,
    requiresFresh: freshRoutes.has(name),
    allowsSuspended: isRead || isTeam,
  };
}

const ranks: Record<Role, number> = { viewer: 0, developer: 1, owner: 2 };

interface AccessRow {
  session_id: string;
  person_id: string;
  role: Role | null;
  is_suspended: boolean;
  is_fresh: boolean;
}

/** Authenticates a member of the wallet's account and checks the role that this route requires. */
export async function guardWallet(call: ConsoleCall): Promise<WalletSession> {
  const { dependencies, request, reply } = call;
  const token = await guardConsole(call);
  if (token === undefined) throw new Problem("session_required");
  const { walletId } = request.params as { walletId: string };
  if (!isUuid(walletId)) throw walletNotFound();
  const { rows } = await dependencies.people
    .query<AccessRow>("select * from pb.authorize_session($1, $2)", [digestToken(token), walletId])
    .catch(unavailable);
  const [access] = rows;
  if (!access) throw new Problem("session_required");
  const { role } = access;
  if (role === null) throw walletNotFound();
  request.logFields = { wallet: walletId, person: access.person_id };
  const requirement = requirementOf(request.method, (request.routeOptions.url ?? "").slice(walletPath.length));
  if (ranks[role] < ranks[requirement.role]) throw new Problem("insufficient_role");
  if (access.is_suspended && !requirement.allowsSuspended) throw new Problem("account_suspended");
  if (requirement.requiresFresh && !access.is_fresh) throw new Problem("reauthentication_required");
  await dependencies.limitWallet(walletId, reply);
  return { token, sessionId: access.session_id, personId: access.person_id, walletId, role };
}

/** The same whether the wallet exists or not. */
function walletNotFound(): Problem {
  return new Problem("not_found", { detail: "You do not have a wallet with this id. Nothing was changed." });
}

const scopesOfRole: Record<Role, readonly Scope[]> = {
  viewer: ["wallet:read", "activity:read"],
  developer: ["wallet:read", "wallet:write", "keys:write", "webhooks:write", "activity:read"],
  owner: ["wallet:read", "wallet:write", "keys:write", "webhooks:write", "activity:read"],
};

/** Guard for the management routes of /v1. A session appears to them as a management key. */
export function createSessionGuard(dependencies: ConsoleDependencies): Guard {
  return async function guardRequest(request, reply) {
    const { sessionId, walletId, role } = await guardWallet({ dependencies, request, reply });
    // Sessions do not search; limitWallet applies instead.
    const limits = { searchesPerSecond: 0, searchesInFlight: 0 };
    return { keyId: sessionId, walletId, mode: "mgmt", scopes: scopesOfRole[role], ...limits };
  };
}
