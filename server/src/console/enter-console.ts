import type { FastifyReply, FastifyRequest } from "fastify";
import type { Role } from "../accounts/accounts.ts";
import { isUuid } from "../http/query-parameters.ts";
import { unavailable } from "../http/unavailable.ts";
import type { Enter, Scope } from "../keys/keys.ts";
import { digestToken } from "../lib/token.ts";
import { Problem } from "../problems.ts";
import { type ConsoleParts, walletPath } from "./console-parts.ts";
import { refuseForgery } from "./refuse-forgery.ts";
import { placeOf } from "./sign-in-limits.ts";

// Who is at the door of /console/api, and what their role lets them do there. Nothing is remembered between requests: a
// session that was ended and a member who was removed are out with their next request.

type Door = Pick<ConsoleParts, "people" | "publicUrl" | "cookie" | "enterPlaceLimits" | "enterWalletLimits">;

/** The session's token if the request brought one. Refuses what did not come from our pages, or too often. */
export async function enterConsole(
  parts: Pick<Door, "publicUrl" | "cookie" | "enterPlaceLimits">,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<string | undefined> {
  refuseForgery(request, parts.publicUrl);
  // Before anybody is looked up.
  await parts.enterPlaceLimits(placeOf(request.ip), reply);
  const token = parts.cookie.read(request.raw);
  return token !== undefined && /^[\w-]{43}$/.test(token) ? token : undefined;
}

export interface Visitor {
  token: string;
  sessionId: string;
  personId: string;
  walletId: string;
  role: Role;
}

/** What a request below a wallet needs, beyond a session of a member. */
interface Need {
  role: Role;
  /** It makes credentials or moves trust: the sign-in must be fresh. */
  isFresh: boolean;
  /** It has nothing to do with money, so a suspension does not stand in its way. */
  isForSuspended: boolean;
}

const fresh = new Set([
  "POST /keys",
  "POST /keys/:id/rotate",
  "POST /webhooks",
  // May name another receiver.
  "PATCH /webhooks/:id",
  "POST /webhooks/:id/rotate-secret",
  "PUT /wallet/auto-top-up",
  "POST /invitations",
  "PATCH /members/:personId",
  "DELETE /members/:personId",
]);

/** By method and path below the wallet: all read, developers and owners change, owners alone change the team. */
function needOf(method: string, path: string): Need {
  const name = `${method} ${path}`;
  const isTeam = /^\/(?:members|invitations)(?:\/|$)/.test(path);
  const isReading = method === "GET";
  // Whose key it is decides; a viewer's must be a test key.
  const isOpen = isReading || name === "POST /playground/search";
  const changing: Role = isTeam ? "owner" : "developer";
  return { role: isOpen ? "viewer" : changing, isFresh: fresh.has(name), isForSuspended: isReading || isTeam };
}

const ranks: Record<Role, number> = { viewer: 0, developer: 1, owner: 2 };

interface EnteredRow {
  session_id: string;
  person_id: string;
  role: Role | null;
  is_suspended: boolean;
  is_fresh: boolean;
}

/** Lets a member of the wallet's account in, as far as the role allows what this route does. */
export async function enterWallet(parts: Door, request: FastifyRequest, reply: FastifyReply): Promise<Visitor> {
  const token = await enterConsole(parts, request, reply);
  if (token === undefined) throw new Problem("session_required");
  const { walletId } = request.params as { walletId: string };
  if (!isUuid(walletId)) throw noSuchWallet();
  const { rows } = await parts.people
    .query<EnteredRow>("select * from pb.enter_wallet($1, $2)", [digestToken(token), walletId])
    .catch(unavailable);
  const [entered] = rows;
  if (!entered) throw new Problem("session_required");
  const { role } = entered;
  if (role === null) throw noSuchWallet();
  const need = needOf(request.method, (request.routeOptions.url ?? "").slice(walletPath.length));
  if (ranks[role] < ranks[need.role]) throw new Problem("insufficient_role");
  if (entered.is_suspended && !need.isForSuspended) throw new Problem("account_suspended");
  if (need.isFresh && !entered.is_fresh) throw new Problem("reauthentication_required");
  await parts.enterWalletLimits(walletId, reply);
  return { token, sessionId: entered.session_id, personId: entered.person_id, walletId, role };
}

/** It may exist: we do not say. */
function noSuchWallet(): Problem {
  return new Problem("not_found", { detail: "You have no wallet with this id. Nothing was changed." });
}

const scopesOfRole: Record<Role, readonly Scope[]> = {
  viewer: ["wallet:read"],
  developer: ["wallet:read", "wallet:write", "keys:write", "webhooks:write"],
  owner: ["wallet:read", "wallet:write", "keys:write", "webhooks:write"],
};

/** The door of the management routes: a visitor looks like a management key to them, with the session in its place. */
export function enterAsManager(parts: Door): Enter {
  return async function enter(request, reply) {
    const { sessionId, walletId, role } = await enterWallet(parts, request, reply);
    // No search is made under it; its limits are those of the wallet's management.
    const limits = { searchesPerSecond: 0, searchesInFlight: 0 };
    return { keyId: sessionId, walletId, mode: "mgmt", scopes: scopesOfRole[role], ...limits };
  };
}
