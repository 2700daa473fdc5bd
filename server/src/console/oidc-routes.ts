import type { FastifyReply, FastifyRequest } from "fastify";
import { invalidParameter, readParameters } from "../http/query-parameters.ts";
import type { Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import { type ConsoleParts, consoleRoute } from "./console-parts.ts";
import { createCookie } from "./cookies.ts";
import { enterConsole } from "./enter-console.ts";
import { type Oidc, OidcRefusal, oidcSeconds } from "./oidc.ts";
import { readReturnPath } from "./return-path.ts";
import { beginSession, newSession, sessionSeconds } from "./sessions.ts";

// A browser goes through these two by itself, so what fails leads back to the sign-in page with a word for it.

type Parts = ConsoleParts & { oidc: Oidc };

export function oidcRoutes(parts: ConsoleParts): Route[] {
  const { oidc } = parts;
  if (!oidc) return [];
  const journey = createCookie("pennyblack-oidc", parts.publicUrl);
  const path = "/console/api/sign-in/oidc";
  return [
    consoleRoute({ method: "GET", path, handle: (...given) => begin({ ...parts, oidc }, journey, ...given) }),
    consoleRoute({
      method: "GET",
      path: `${path}/callback`,
      handle: (...given) => finish({ ...parts, oidc }, journey, ...given),
    }),
  ];
}

type Cookie = ConsoleParts["cookie"];

async function begin(parts: Parts, journey: Cookie, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  await enterConsole(parts, request, reply);
  const { return_to: wanted = "/console", fresh } = readParameters(request.query, ["return_to", "fresh"]);
  const returnTo = readReturnPath(wanted);
  if (returnTo === undefined) throw invalidParameter("return_to", "must be a path below /console");
  if (fresh !== undefined && fresh !== "1") throw invalidParameter("fresh", "must be 1 or left out");
  await parts.limits.tryFrom(request.ip);
  const begun = await parts.oidc.begin({ isFresh: fresh === "1", returnTo }).catch((err: unknown) => {
    request.log.warn({ err }, "the OpenID Connect provider cannot be asked");
    return undefined;
  });
  if (begun) reply.header("set-cookie", journey.write(begun.sealed, oidcSeconds));
  return lead(reply, begun?.url ?? signInPage(parts, "unavailable"));
}

async function finish(parts: Parts, journey: Cookie, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const before = await enterConsole(parts, request, reply);
  await parts.limits.tryFrom(request.ip);
  reply.header("set-cookie", journey.clear());
  const search = /\?.*$/s.exec(request.url)?.[0] ?? "";
  const proof = await parts.oidc.finish(search, journey.read(request.raw) ?? "").catch((error: unknown) => {
    if (!(error instanceof OidcRefusal)) throw error;
    request.log.info({ err: error }, "a sign-in by OpenID Connect was refused");
    return error.reason;
  });
  if (typeof proof === "string") return lead(reply, signInPage(parts, proof));
  const session = newSession(before);
  const { isSignUpOpen } = parts;
  const isKnown = await beginSession(parts.people, { ...proof, isSignUpOpen }, session).catch(unavailable);
  if (!isKnown) return lead(reply, signInPage(parts, "unknown_person"));
  reply.header("set-cookie", parts.cookie.write(session.token, sessionSeconds));
  return lead(reply, parts.publicUrl + proof.returnTo);
}

type Word = OidcRefusal["reason"] | "unavailable" | "unknown_person";

function signInPage({ publicUrl }: Parts, word: Word): string {
  return `${publicUrl}/console/sign-in?error=${word}`;
}

function lead(reply: FastifyReply, url: string): unknown {
  return reply.code(302).header("location", url).send();
}
