import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import { keepingAnOwner, mailboxOf, type Role, readEmail, roles } from "../accounts/accounts.ts";
import { isUuid } from "../http/query-parameters.ts";
import { jsonReader } from "../http/read-json.ts";
import type { Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import { digestToken, mintToken } from "../lib/token.ts";
import { Problem } from "../problems.ts";
import { type ConsoleParts, consoleRoute, walletPath } from "./console-parts.ts";
import { enterWallet } from "./enter-console.ts";
import { sealLetter } from "./letters.ts";
import { toIso } from "./sessions.ts";
import { invalidField } from "./sign-in-routes.ts";

// Who belongs to the account of a wallet. The database decides again, under the account's lock.

const roleField = Type.Enum([...roles]);
const readRole = jsonReader(Type.Object({ role: roleField }, { additionalProperties: false }));
const readInvitation = jsonReader(
  Type.Object({ email: Type.String({ maxLength: 300 }), role: roleField }, { additionalProperties: false }),
);

type TeamOutcome =
  | "done"
  | "not_found"
  | "last_owner"
  | "too_many"
  | "session_required"
  | "insufficient_role"
  | "reauthentication_required";

interface Team {
  members: { person_id: string; email: string; name: string; role: Role; joined_at: string; you: boolean }[];
  invitations: { id: string; email: string; role: Role; expires_at: string }[];
}

export function teamRoutes(parts: ConsoleParts): Route[] {
  const route = (
    method: Route["method"],
    path: string,
    handle: (parts: ConsoleParts, request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
  ): Route =>
    consoleRoute({ method, path: `${walletPath}/${path}`, handle: (request, reply) => handle(parts, request, reply) });
  return [
    route("GET", "members", showTeam),
    route("PATCH", "members/:personId", changeMember),
    route("DELETE", "members/:personId", removeMember),
    route("POST", "invitations", invite),
    route("DELETE", "invitations/:id", takeBack),
  ];
}

async function showTeam(parts: ConsoleParts, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { token, walletId } = await enterWallet(parts, request, reply);
  const { rows } = await parts.people
    .query<{ team: Team | null }>("select pb.show_team($1, $2) as team", [digestToken(token), walletId])
    .catch(unavailable);
  const team = rows[0]?.team;
  if (!team) throw new Problem("not_found");
  return {
    members: team.members.map((member) => ({ ...member, joined_at: toIso(member.joined_at) })),
    invitations: team.invitations.map((open) => ({ ...open, expires_at: toIso(open.expires_at) })),
  };
}

async function changeMember(parts: ConsoleParts, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { token, walletId } = await enterWallet(parts, request, reply);
  const { role } = await readRole(request.raw);
  await changeTeam(parts, "pb.change_team($1, $2, $3, $4)", [token, walletId, readId(request, "personId"), role]);
  return reply.code(204).send();
}

async function removeMember(parts: ConsoleParts, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { token, walletId } = await enterWallet(parts, request, reply);
  await changeTeam(parts, "pb.change_team($1, $2, $3, null)", [token, walletId, readId(request, "personId")]);
  return reply.code(204).send();
}

async function takeBack(parts: ConsoleParts, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { token, walletId } = await enterWallet(parts, request, reply);
  await changeTeam(parts, "pb.take_back_invitation($1, $2, $3)", [token, walletId, readId(request, "id")]);
  return reply.code(204).send();
}

/** The token goes to the invited address alone: whoever has it is that person. */
async function invite(parts: ConsoleParts, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { token, personId, walletId } = await enterWallet(parts, request, reply);
  const body = await readInvitation(request.raw);
  const email = readEmail(body.email);
  if (email === undefined) throw invalidField("email", "must be an e-mail address such as ada@example.org");
  await parts.limits.writeFor(personId);
  await parts.limits.writeTo(mailboxOf(email));
  const invitation = mintToken();
  const letter = sealLetter(parts.secret, { token: invitation });
  const { rows } = await parts.people
    .query<{ outcome: TeamOutcome; id: string; expires_at: Date }>(
      "select * from pb.invite_to_team($1, $2, $3, $4, $5, $6, $7)",
      [digestToken(token), walletId, email, body.role, digestToken(invitation), letter.id, letter.sealed],
    )
    .catch(unavailable);
  const [made] = rows;
  refuseUnlessDone(made?.outcome ?? "not_found");
  return reply.code(201).send({ id: made?.id, email, role: body.role, expires_at: made?.expires_at.toISOString() });
}

async function changeTeam(
  parts: ConsoleParts,
  call: string,
  [token, ...values]: [token: string, ...values: string[]],
): Promise<void> {
  const change = parts.people.query<{ outcome: TeamOutcome }>(`select ${call} as outcome`, [
    digestToken(token),
    ...values,
  ]);
  const outcome = change.then(({ rows }) => rows[0]?.outcome ?? "not_found");
  refuseUnlessDone(await keepingAnOwner(outcome).catch(unavailable));
}

function refuseUnlessDone(outcome: TeamOutcome): void {
  if (outcome === "done") return;
  if (outcome === "not_found") throw nobodySuch();
  if (outcome === "too_many") {
    throw new Problem("rate_limited", {
      detail: "The account has 100 open invitations, which is as many as it may. Nothing was sent. Take some back.",
    });
  }
  throw new Problem(outcome);
}

function readId(request: FastifyRequest, name: "id" | "personId"): string {
  const id = (request.params as Record<string, string>)[name] ?? "";
  if (!isUuid(id)) throw nobodySuch();
  return id;
}

function nobodySuch(): Problem {
  return new Problem("not_found", {
    detail: "The team has no member or invitation with this id. Nothing was changed.",
  });
}
