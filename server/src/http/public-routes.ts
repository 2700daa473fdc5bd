import { Type } from "typebox";
import { isProblemCode, Problem } from "../problems/problems.ts";
import { llmsText } from "./llms-text.ts";
import { problemPage, problemPagePolicy } from "./problem-page.ts";
import type { Route } from "./route.ts";

const dayMs = 24 * 3_600 * 1_000;

export interface PublicRouteOptions {
  publicUrl: string;
  /** Where to report a vulnerability: a mailto: or https: URL. */
  securityContact: string | undefined;
  /** Whether this server serves /docs. */
  hasDocs: boolean;
  readOpenapi: () => Buffer;
}

/** Routes without authentication: the API description and the problem pages. */
export function publicRoutes({ publicUrl, securityContact, hasDocs, readOpenapi }: PublicRouteOptions): Route[] {
  return [
    {
      method: "GET",
      path: "/openapi.json",
      summary: "OpenAPI document",
      description: "The OpenAPI 3.1 description of this API, generated from the routes and schemas the server runs.",
      answer: Type.Object({}, { additionalProperties: true }),
      problems: [],
      handle: async (_request, reply) => {
        reply.type("application/json; charset=utf-8");
        return readOpenapi();
      },
    },
    {
      method: "GET",
      path: "/problems/:code",
      summary: "Problem page",
      description:
        "Explains a problem code and what to do about it. The `type` of every error is the URL of such a page.",
      answer: "text/html",
      problems: ["not_found"],
      handle: async (request, reply) => {
        const { code } = request.params as { code: string };
        if (!isProblemCode(code)) throw new Problem("not_found");
        reply.type("text/html; charset=utf-8").header("content-security-policy", problemPagePolicy);
        return problemPage(code);
      },
    },
    {
      method: "GET",
      path: "/llms.txt",
      summary: "API summary for language models",
      description: "This API on one page of plain text.",
      answer: "text/plain",
      problems: [],
      handle: async (_request, reply) => {
        reply.type("text/plain; charset=utf-8");
        return llmsText({ publicUrl, hasDocs });
      },
    },
    {
      method: "GET",
      path: "/.well-known/security.txt",
      summary: "Security contact",
      description: "Where to report a vulnerability (RFC 9116). 404 if the operator has not configured a contact.",
      answer: "text/plain",
      problems: ["not_found"],
      handle: async (_request, reply) => {
        if (!securityContact) throw new Problem("not_found");
        reply.type("text/plain; charset=utf-8");
        const expires = new Date(Date.now() + 180 * dayMs).toISOString();
        return `Contact: ${securityContact}\nExpires: ${expires}\nPreferred-Languages: en\n`;
      },
    },
  ];
}
