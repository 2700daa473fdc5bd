import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import { mailboxOf, readEmail } from "../accounts/accounts.ts";
import { invalidInput, jsonReader } from "../http/read-json.ts";
import type { Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import { digestToken, mintToken } from "../lib/token.ts";
import { Problem } from "../problems.ts";
import { type ConsoleParts, consoleRoute } from "./console-parts.ts";
import { enterConsole } from "./enter-console.ts";
import { sealLetter } from "./letters.ts";
import { readReturnPath } from "./return-path.ts";
import { showView } from "./session-view.ts";
import { endSession, joinAccount, type NewSession, newSession, redeemSignIn, sessionSeconds } from "./sessions.ts";

const readAsk = jsonReader(
  Type.Object(
    { email: Type.String({ maxLength: 300 }), return_to: Type.Optional(Type.String({ maxLength: 512 })) },
    { additionalProperties: false },
  ),
);
const tokenField = Type.String({ maxLength: 100 });
const readToken = jsonReader(Type.Object({ token: tokenField }, { additionalProperties: false }));
const readInvitation = jsonReader(
  Type.Object(
    { token: tokenField, name: Type.String({ maxLength: 200, pattern: "^[^\\x00-\\x1f\\x7f]*$" }) },
    { additionalProperties: false },
  ),
);

export function signInRoutes(parts: ConsoleParts): Route[] {
  const path = (rest: string): string => `/console/api/${rest}`;
  return [
    consoleRoute({ method: "GET", path: path("session"), handle: (request, reply) => show(parts, request, reply) }),
    consoleRoute({ method: "POST", path: path("sign-in/email"), handle: (...given) => ask(parts, ...given) }),
    consoleRoute({ method: "POST", path: path("sign-in/token"), handle: (...given) => redeem(parts, ...given) }),
    consoleRoute({ method: "POST", path: path("invitations/accept"), handle: (...given) => accept(parts, ...given) }),
    consoleRoute({ method: "POST", path: path("sign-out"), handle: (...given) => signOut(parts, false, ...given) }),
    consoleRoute({
      method: "POST",
      path: path("sign-out/everywhere"),
      handle: (...given) => signOut(parts, true, ...given),
    }),
  ];
}

async function show(parts: ConsoleParts, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  return showView(parts, await enterConsole(parts, request, reply));
}

/** Says the same and does the same for every address: the worker finds out whether anybody is known by it. */
async function ask(parts: ConsoleParts, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  await enterConsole(parts, request, reply);
  if (!parts.features.mail) {
    throw new Problem("not_found", {
      detail: "This installation sends no mail. Ask the operator for a link: npm run admin -- console sign-in-link",
    });
  }
  const body = await readAsk(request.raw);
  const email = readEmail(body.email);
  if (email === undefined) throw invalidField("email", "must be an e-mail address such as ada@example.org");
  const returnTo = body.return_to === undefined ? undefined : readReturnPath(body.return_to);
  if (returnTo === undefined && body.return_to !== undefined) throw invalidReturnPath();
  await parts.limits.tryFrom(request.ip);
  await parts.limits.writeTo(mailboxOf(email));
  const token = mintToken();
  const letter = sealLetter(parts.secret, { token, returnTo });
  await parts.people
    .query("select pb.ask_sign_in($1, $2, $3, $4, $5)", [
      email,
      digestToken(token),
      parts.isSignUpOpen,
      letter.id,
      letter.sealed,
    ])
    .catch(unavailable);
  return reply.code(202).send({});
}

async function redeem(parts: ConsoleParts, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const before = await enterConsole(parts, request, reply);
  const { token } = await readToken(request.raw);
  await parts.limits.tryFrom(request.ip);
  const session = newSession(before);
  if (!(await redeemSignIn(parts.people, token, session).catch(unavailable))) throw new Problem("link_not_valid");
  return begin(parts, session, reply);
}

async function accept(parts: ConsoleParts, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const before = await enterConsole(parts, request, reply);
  const { token, name } = await readInvitation(request.raw);
  await parts.limits.tryFrom(request.ip);
  const session = newSession(before);
  const isJoined = await joinAccount(parts.people, { token, name: name.trim() }, session).catch(unavailable);
  if (!isJoined) throw new Problem("link_not_valid");
  return begin(parts, session, reply);
}

async function begin(parts: ConsoleParts, session: NewSession, reply: FastifyReply): Promise<unknown> {
  reply.header("set-cookie", parts.cookie.write(session.token, sessionSeconds));
  return showView(parts, session.token);
}

async function signOut(
  parts: ConsoleParts,
  isEverywhere: boolean,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const token = await enterConsole(parts, request, reply);
  if (token !== undefined) await endSession(parts.people, token, isEverywhere).catch(unavailable);
  return reply.code(204).header("set-cookie", parts.cookie.clear()).send();
}

export function invalidField(name: string, rule: string): Problem {
  return invalidInput([{ pointer: `#/${name}`, code: "invalid", detail: rule }]);
}

function invalidReturnPath(): Problem {
  return invalidField("return_to", "must be a path below /console");
}
