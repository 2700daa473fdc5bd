import { Type } from "typebox";
import { parseEmailAddress } from "../accounts/accounts.ts";
import { mintSignInToken, sealEmail } from "../email/email.ts";
import { fieldFault, invalidInput } from "../http/input/faults.ts";
import { jsonReader } from "../http/input/read-json.ts";
import { textPatterns } from "../http/input/text-patterns.ts";
import type { Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import { digestToken } from "../lib/token.ts";
import { Problem } from "../problems/problems.ts";
import { apiRoutes, type ConsoleCall, type ConsoleDependencies } from "./console-dependencies.ts";
import { guardConsole } from "./console-guard.ts";
import { readReturnPath } from "./return-path.ts";
import { serializeSession } from "./serialize-session.ts";
import { endSession, joinAccount, type NewSession, newSession, redeemSignIn, sessionSeconds } from "./sessions.ts";

const readLinkRequest = jsonReader(
  Type.Object(
    { email: Type.String({ maxLength: 300 }), return_to: Type.Optional(Type.String({ maxLength: 512 })) },
    { additionalProperties: false },
  ),
);
/** A sign-in token contains an address of up to 254 characters. */
const tokenField = Type.String({ maxLength: 400 });
const readToken = jsonReader(Type.Object({ token: tokenField }, { additionalProperties: false }));
const readInvitation = jsonReader(
  Type.Object(
    { token: tokenField, name: Type.String({ maxLength: 200, pattern: textPatterns.name }) },
    { additionalProperties: false },
  ),
);

export function signInRoutes(dependencies: ConsoleDependencies): Route[] {
  return apiRoutes(dependencies, [
    ["GET", "/console/api/session", getSession],
    ["POST", "/console/api/sign-in/email", requestLink],
    ["POST", "/console/api/sign-in/token", redeem],
    ["POST", "/console/api/invitations/accept", accept],
    ["POST", "/console/api/sign-out", (call) => signOut(call, { isEverywhere: false })],
    ["POST", "/console/api/sign-out/everywhere", (call) => signOut(call, { isEverywhere: true })],
  ]);
}

async function getSession(call: ConsoleCall): Promise<unknown> {
  return serializeSession(call.dependencies, await guardConsole(call));
}

/** Does the same for every address: only the worker checks whether the address is known. */
async function requestLink(call: ConsoleCall): Promise<unknown> {
  const { dependencies, request, reply } = call;
  await guardConsole(call);
  if (!dependencies.features.mail) {
    throw new Problem("not_found", {
      detail:
        "Email is not configured on this server. Ask the operator for a link: npm run admin -- console sign-in-link",
    });
  }
  const body = await readLinkRequest(request.raw);
  const email = parseEmailAddress(body.email);
  if (email === undefined) throw invalidField("email", "must be an email address such as ada@example.org");
  const returnTo = body.return_to === undefined ? undefined : readReturnPath(body.return_to);
  if (returnTo === undefined && body.return_to !== undefined) {
    throw invalidField("return_to", "must be a path below `/console`");
  }
  await dependencies.limits.limitAttempts(request.ip);
  const isMailboxFull = await dependencies.limits.limitLinks(request.ip, email);
  const token = mintSignInToken(email);
  const message = sealEmail(dependencies.secrets, { token, returnTo });
  const values = [email, digestToken(token), dependencies.isSignUpOpen, message.id, message.sealed, isMailboxFull];
  await dependencies.people.query("select pb.request_sign_in($1, $2, $3, $4, $5, $6)", values).catch(unavailable);
  return reply.code(202).send({});
}

async function redeem(call: ConsoleCall): Promise<unknown> {
  const { dependencies, request } = call;
  const previousToken = await guardConsole(call);
  const { token } = await readToken(request.raw);
  await dependencies.limits.limitAttempts(request.ip);
  const session = newSession(previousToken);
  const isRedeemed = await redeemSignIn(dependencies.people, token, session).catch(unavailable);
  if (!isRedeemed) throw new Problem("link_not_valid");
  return sendSession(call, session);
}

async function accept(call: ConsoleCall): Promise<unknown> {
  const { dependencies, request } = call;
  const previousToken = await guardConsole(call);
  const { token, name } = await readInvitation(request.raw);
  await dependencies.limits.limitAttempts(request.ip);
  const session = newSession(previousToken);
  const isJoined = await joinAccount(dependencies.people, { token, name: name.trim() }, session).catch(unavailable);
  if (!isJoined) throw new Problem("link_not_valid");
  return sendSession(call, session);
}

async function sendSession({ dependencies, reply }: ConsoleCall, session: NewSession): Promise<unknown> {
  reply.header("set-cookie", dependencies.cookie.write(session.token, sessionSeconds));
  return serializeSession(dependencies, session.token);
}

async function signOut(call: ConsoleCall, { isEverywhere }: { isEverywhere: boolean }): Promise<unknown> {
  const { dependencies, reply } = call;
  const token = await guardConsole(call);
  if (token !== undefined) await endSession(dependencies.people, token, isEverywhere).catch(unavailable);
  return reply.code(204).header("set-cookie", dependencies.cookie.clear()).send();
}

export function invalidField(name: string, rule: string): Problem {
  return invalidInput([fieldFault(name, rule)]);
}
