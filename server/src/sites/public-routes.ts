import { Type } from "typebox";
import { plainPagePolicy } from "../http/plain-page.ts";
import { publicProblems, type Route } from "../http/route.ts";
import type { Jwks } from "../lib/sign-jws.ts";
import { suggest } from "../lib/suggest.ts";
import { isProblemCode, Problem, problemCodes } from "../problems/problems.ts";
import { llmsText } from "./llms-text.ts";
import { problemPage } from "./problem-page.ts";

const dayMs = 24 * 3_600 * 1_000;

export interface PublicRouteOptions {
  publicUrl: string;
  /** Where to report a vulnerability: a mailto: or https: URL. */
  securityContact: string | undefined;
  /** Whether the docs are built, so that /docs has the problem pages. */
  hasDocs: () => boolean;
  /** Undefined if no signing key is configured. */
  jwks: Jwks | undefined;
  readOpenapi: () => Buffer;
}

/** Routes without authentication: the API description and the problem pages. */
export function publicRoutes(options: PublicRouteOptions): Route[] {
  const { publicUrl, securityContact, hasDocs, jwks, readOpenapi } = options;
  return [
    {
      method: "GET",
      path: "/openapi.json",
      operationId: "getOpenapi",
      tag: "Documents",
      summary: "Get the OpenAPI document",
      description: "The OpenAPI 3.1 description of this API, generated from the routes and schemas the server runs.",
      answer: Type.Object({}, { additionalProperties: true, title: "OpenapiDocument" }),
      problems: publicProblems,
      handle: async (_request, reply) => {
        reply.type("application/json; charset=utf-8");
        return readOpenapi();
      },
    },
    {
      method: "GET",
      path: "/problems/:code",
      operationId: "getProblemPage",
      tag: "Documents",
      summary: "Get the page of a problem",
      description: "Explains a problem code and how to fix it. The `type` of every error is the URL of such a page.",
      answer: "text/html",
      problems: ["not_found", ...publicProblems],
      handle: async (request, reply) => {
        const { code } = request.params as { code: string };
        if (!isProblemCode(code)) throw noSuchCode(code);
        // The same page with navigation and search. Temporary, because a server without built docs has only the plain page.
        if (hasDocs()) return reply.code(302).header("location", `/docs/problems/${code}`).send();
        reply.type("text/html; charset=utf-8").header("content-security-policy", plainPagePolicy);
        return problemPage(code);
      },
    },
    {
      method: "GET",
      path: "/llms.txt",
      operationId: "getLlmsText",
      tag: "Documents",
      summary: "Get the API summary for language models",
      description: "This API on one page of plain text.",
      answer: "text/plain",
      problems: publicProblems,
      handle: async (_request, reply) => {
        reply.type("text/plain; charset=utf-8");
        return llmsText({ publicUrl, hasDocs: hasDocs() });
      },
    },
    jwksRoute(jwks),
    {
      method: "GET",
      path: "/.well-known/security.txt",
      operationId: "getSecurityContact",
      tag: "Documents",
      summary: "Get the security contact",
      description: "Where to report a vulnerability (RFC 9116). 404 if the operator has not configured a contact.",
      answer: "text/plain",
      problems: ["not_found", ...publicProblems],
      handle: async (_request, reply) => {
        if (!securityContact) throw notConfigured("a security contact");
        reply.type("text/plain; charset=utf-8");
        const expires = new Date(Date.now() + 180 * dayMs).toISOString();
        return `Contact: ${securityContact}\nExpires: ${expires}\nPreferred-Languages: en\n`;
      },
    },
  ];
}

function notConfigured(setting: string): Problem {
  return new Problem("not_found", {
    detail: `The operator has not configured ${setting}. Ask the operator to configure it.`,
  });
}

function noSuchCode(code: string): Problem {
  const meant = suggest(code, problemCodes);
  const advice = meant === undefined ? "The `code` of every error is one." : `Did you mean \`/problems/${meant}\`?`;
  return new Problem("not_found", { detail: `No problem has this code. ${advice}` });
}

function jwksRoute(jwks: Jwks | undefined): Route {
  return {
    method: "GET",
    path: "/.well-known/jwks.json",
    operationId: "listSigningKeys",
    tag: "Receipts",
    summary: "List signing keys",
    description:
      "The public keys of receipts and roots as a JSON Web Key Set (RFC 7517). The first key signs, and the others verify older signatures. Store the set to verify receipts offline. 404 if the operator has not configured a key.",
    answer: Type.Object(
      {
        keys: Type.Array(
          Type.Object(
            {
              kty: Type.Literal("OKP"),
              crv: Type.Literal("Ed25519"),
              x: Type.String({ description: "The public key, in base64url." }),
              kid: Type.String({ description: "The key's RFC 7638 thumbprint, which signatures name." }),
              alg: Type.Literal("EdDSA"),
              use: Type.Literal("sig"),
            },
            { title: "SigningKey" },
          ),
        ),
      },
      { title: "SigningKeySet" },
    ),
    problems: ["not_found", ...publicProblems],
    handle: async () => {
      if (!jwks) throw notConfigured("a signing key");
      return jwks;
    },
  };
}
