import type { FastifyReply } from "fastify";
import { invalidParameter } from "../http/input/faults.ts";
import { anyText, oneOf, readQuery } from "../http/input/query-parameters.ts";
import type { Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import { apiRoutes, type ConsoleCall, type ConsoleDependencies } from "./console-dependencies.ts";
import { guardConsole } from "./console-guard.ts";
import { type Cookie, createCookie } from "./cookies.ts";
import { type Oidc, OidcError, oidcSeconds } from "./oidc.ts";
import { readReturnPath } from "./return-path.ts";
import { newSession, sessionSeconds, startSession } from "./sessions.ts";

// The browser navigates to both routes, so errors redirect to the sign-in page with an error code.

/** A call to a server with an OpenID Connect provider, and the cookie of the pending sign-in. */
type OidcCall = ConsoleCall & { oidc: Oidc; pendingCookie: Cookie };

export function oidcRoutes(dependencies: ConsoleDependencies): Route[] {
  const { oidc } = dependencies;
  if (!oidc) return [];
  const pendingCookie = createCookie("pennyblack-oidc", dependencies.publicUrl);
  return apiRoutes(dependencies, [
    ["GET", "/console/api/sign-in/oidc", (call) => startSignIn({ ...call, oidc, pendingCookie })],
    ["GET", "/console/api/sign-in/oidc/callback", (call) => finishSignIn({ ...call, oidc, pendingCookie })],
  ]);
}

async function startSignIn(call: OidcCall): Promise<unknown> {
  const { dependencies, request, reply, oidc, pendingCookie } = call;
  await guardConsole(call);
  const { return_to: path = "/console", fresh } = readQuery(request.query, {
    return_to: anyText,
    fresh: oneOf(["1"]),
  });
  const returnTo = readReturnPath(path);
  if (returnTo === undefined) throw invalidParameter("return_to", "must be a path below `/console`");
  await dependencies.limits.limitAttempts(request.ip);
  const started = await oidc.start({ isFresh: fresh === "1", returnTo }).catch((err: unknown) => {
    request.log.warn({ err }, "oidc provider unavailable");
    return undefined;
  });
  if (started) reply.header("set-cookie", pendingCookie.write(started.sealed, oidcSeconds));
  return redirect(reply, started?.url ?? signInPage(call, "unavailable"));
}

async function finishSignIn(call: OidcCall): Promise<unknown> {
  const { dependencies, request, reply, oidc, pendingCookie } = call;
  const previousToken = await guardConsole(call);
  await dependencies.limits.limitAttempts(request.ip);
  reply.header("set-cookie", pendingCookie.clear());
  const search = /\?.*$/s.exec(request.url)?.[0] ?? "";
  const identity = await oidc.finish(search, pendingCookie.read(request.raw) ?? "").catch((error: unknown) => {
    if (!(error instanceof OidcError)) throw error;
    request.log.info({ err: error }, "oidc sign-in rejected");
    return error.reason;
  });
  if (typeof identity === "string") return redirect(reply, signInPage(call, identity));
  const session = newSession(previousToken);
  const { isSignUpOpen } = dependencies;
  const isStarted = await startSession(dependencies.people, { ...identity, isSignUpOpen }, session).catch(unavailable);
  if (!isStarted) return redirect(reply, signInPage(call, "unknown_person"));
  reply.header("set-cookie", dependencies.cookie.write(session.token, sessionSeconds));
  return redirect(reply, dependencies.publicUrl + identity.returnTo);
}

type SignInError = OidcError["reason"] | "unavailable" | "unknown_person";

function signInPage({ dependencies }: OidcCall, error: SignInError): string {
  return `${dependencies.publicUrl}/console/sign-in?error=${error}`;
}

function redirect(reply: FastifyReply, url: string): unknown {
  return reply.code(302).header("location", url).send();
}
