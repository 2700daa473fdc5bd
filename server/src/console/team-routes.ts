import { Type } from "typebox";
import { catchLastOwner, parseEmailAddress, type Role, roles } from "../accounts/accounts.ts";
import { type SealedEmail, sealEmail } from "../email/email.ts";
import { isUuid } from "../http/input/query-parameters.ts";
import { jsonReader } from "../http/input/read-json.ts";
import { textPatterns } from "../http/input/text-patterns.ts";
import type { Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import { digestToken, mintToken } from "../lib/token.ts";
import { limitProblem } from "../problems/exceeded-limit.ts";
import { Problem } from "../problems/problems.ts";
import { apiRoutes, type ConsoleCall, type ConsoleDependencies, walletPath } from "./console-dependencies.ts";
import { guardConsole, guardWallet } from "./console-guard.ts";
import { serializeSession } from "./serialize-session.ts";
import { serializeTeam, type Team } from "./serialize-team.ts";
import { readSession, toIso } from "./sessions.ts";
import { invalidField } from "./sign-in-routes.ts";

// Members and invitations of a wallet's account. The database checks permissions again under the account's lock.

/** pb.invite_to_team has the same. */
export const maxOpenInvitations = 100;

const roleField = Type.Enum([...roles]);
const readRole = jsonReader(Type.Object({ role: roleField }, { additionalProperties: false }));
const readInvitation = jsonReader(
  Type.Object({ email: Type.String({ maxLength: 300 }), role: roleField }, { additionalProperties: false }),
);

const readName = jsonReader(
  Type.Object({ name: Type.String({ maxLength: 200, pattern: textPatterns.name }) }, { additionalProperties: false }),
);

type TeamOutcome =
  | "done"
  | "not_found"
  | "last_owner"
  | "too_many"
  | "session_required"
  | "insufficient_role"
  | "reauthentication_required";

interface OwnInvitation {
  account_name: string;
  role: Role;
  expires_at: string;
}

export function teamRoutes(dependencies: ConsoleDependencies): Route[] {
  return apiRoutes(dependencies, [
    ["GET", `${walletPath}/members`, getTeam],
    ["PATCH", `${walletPath}/members/:personId`, changeMember],
    ["DELETE", `${walletPath}/members/:personId`, removeMember],
    ["POST", `${walletPath}/invitations`, invite],
    ["DELETE", `${walletPath}/invitations/:id`, revokeInvitation],
    ["GET", "/console/api/invitations/:id", getOwnInvitation],
    ["POST", "/console/api/invitations/:id/accept", acceptOwnInvitation],
  ]);
}

async function getTeam(call: ConsoleCall): Promise<unknown> {
  const { token, walletId } = await guardWallet(call);
  const { rows } = await call.dependencies.people
    .query<{ team: Team | null }>("select pb.read_team($1, $2) as team", [digestToken(token), walletId])
    .catch(unavailable);
  const team = rows[0]?.team;
  if (!team) throw new Problem("not_found");
  return serializeTeam(team);
}

async function changeMember(call: ConsoleCall): Promise<unknown> {
  const { token, walletId } = await guardWallet(call);
  const { role } = await readRole(call.request.raw);
  return changeTeam(call, "pb.change_team($1, $2, $3, $4)", [token, walletId, readId(call, "personId"), role]);
}

async function removeMember(call: ConsoleCall): Promise<unknown> {
  const { token, walletId } = await guardWallet(call);
  return changeTeam(call, "pb.change_team($1, $2, $3, null)", [token, walletId, readId(call, "personId")]);
}

async function revokeInvitation(call: ConsoleCall): Promise<unknown> {
  const { token, walletId } = await guardWallet(call);
  return changeTeam(call, "pb.revoke_invitation($1, $2, $3)", [token, walletId, readId(call, "id")]);
}

/**
 * The token is emailed to the invited address and never returned, because it proves ownership of the address. The owner can
 * pass on a link with the invitation's id instead, which works only for a person who has signed in with that address.
 */
async function invite(call: ConsoleCall): Promise<unknown> {
  const { dependencies, request, reply } = call;
  const { token, personId, walletId } = await guardWallet(call);
  const body = await readInvitation(request.raw);
  const email = parseEmailAddress(body.email);
  if (email === undefined) throw invalidField("email", "must be an email address such as ada@example.org");
  await dependencies.limits.limitInvitations(request.ip, email, personId);
  const invitation = mintToken();
  const message = dependencies.features.mail ? await writeInvitation(call, token, invitation) : undefined;
  const { rows } = await dependencies.people
    .query<{ outcome: TeamOutcome; id: string; expires_at: Date }>(
      "select * from pb.invite_to_team($1, $2, $3, $4, $5, $6, $7)",
      [digestToken(token), walletId, email, body.role, digestToken(invitation), message?.id, message?.sealed],
    )
    .catch(unavailable);
  const { outcome = "not_found", id, expires_at: expiresAt } = rows[0] ?? {};
  throwUnlessDone(outcome);
  return reply.code(201).send({ id, email, role: body.role, expires_at: expiresAt?.toISOString() });
}

async function writeInvitation(
  { dependencies }: ConsoleCall,
  sessionToken: string,
  token: string,
): Promise<SealedEmail> {
  const session = await readSession(dependencies.people, sessionToken).catch(unavailable);
  // The session ended after guardWallet had found it.
  if (!session) throw new Problem("session_required");
  return sealEmail(dependencies.secrets, { token, invitedBy: session.person.email });
}

async function getOwnInvitation(call: ConsoleCall): Promise<unknown> {
  const { token, id } = await guardInvitation(call);
  const { rows } = await call.dependencies.people
    .query<{ invitation: OwnInvitation | null }>("select pb.read_own_invitation($1, $2) as invitation", [
      digestToken(token),
      id,
    ])
    .catch(unavailable);
  const invitation = rows[0]?.invitation;
  if (!invitation) throw new Problem("link_not_valid", { detail: notInvited });
  return { ...invitation, expires_at: toIso(invitation.expires_at) };
}

async function acceptOwnInvitation(call: ConsoleCall): Promise<unknown> {
  const { dependencies, request } = call;
  const { token, id } = await guardInvitation(call);
  const { name } = await readName(request.raw);
  const { rows } = await dependencies.people
    .query<{ done: boolean }>("select pb.accept_own_invitation($1, $2, $3) as done", [
      digestToken(token),
      id,
      name.trim(),
    ])
    .catch(unavailable);
  if (!rows[0]?.done) throw new Problem("link_not_valid", { detail: notInvited });
  return serializeSession(dependencies, token);
}

/** The database checks that the session is live and that its person has the invited address. */
async function guardInvitation(call: ConsoleCall): Promise<{ token: string; id: string }> {
  const token = await guardConsole(call);
  const session =
    token === undefined ? undefined : await readSession(call.dependencies.people, token).catch(unavailable);
  if (token === undefined || !session) throw new Problem("session_required");
  const { id } = call.request.params as { id: string };
  if (!isUuid(id)) throw new Problem("link_not_valid", { detail: notInvited });
  return { token, id };
}

/** The same for every reason, so that an invitation to another address stays hidden. */
const notInvited =
  "There is no open invitation with this id for your address. It may be for another address, or have expired, been revoked or been used. Nothing was changed.";

async function changeTeam(
  { dependencies, reply }: ConsoleCall,
  sql: string,
  [token, ...values]: [token: string, ...values: string[]],
): Promise<unknown> {
  const outcome = dependencies.people
    .query<{ outcome: TeamOutcome }>(`select ${sql} as outcome`, [digestToken(token), ...values])
    .then(({ rows }) => rows[0]?.outcome ?? "not_found");
  throwUnlessDone(await catchLastOwner(outcome).catch(unavailable));
  return reply.code(204).send();
}

function throwUnlessDone(outcome: TeamOutcome): void {
  if (outcome === "done") return;
  if (outcome === "not_found") throw memberNotFound();
  if (outcome === "too_many") {
    const exceeded = { limit: "account_invitations" as const, max: maxOpenInvitations, retryAfterSeconds: 1 };
    throw limitProblem("rate_limited", exceeded, {
      detail: `The account has reached the limit of ${maxOpenInvitations} open invitations. Nothing was sent. Revoke some first.`,
    });
  }
  throw new Problem(outcome);
}

function readId({ request }: ConsoleCall, name: "id" | "personId"): string {
  const id = (request.params as Record<string, string>)[name] ?? "";
  if (!isUuid(id)) throw memberNotFound();
  return id;
}

function memberNotFound(): Problem {
  return new Problem("not_found", {
    detail: "The team has no member or invitation with this id. Nothing was changed.",
  });
}
