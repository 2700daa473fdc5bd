import { Type } from "typebox";
import { isProblemCode, Problem } from "../problems.ts";
import { llmsText } from "./llms-text.ts";
import { problemPage, problemPagePolicy } from "./problem-page.ts";
import type { Route } from "./route.ts";

const aDayMs = 24 * 3_600 * 1_000;

export interface PublicRouteParts {
  publicUrl: string;
  /** Where a vulnerability is reported: a mailto: or https: address of the operator. */
  securityContact: string | undefined;
  /** Whether this server has pages under /docs. */
  hasDocs: boolean;
  readOpenapi: () => Buffer;
}

/** What anyone may read: the API's description and the page of each problem. */
export function publicRoutes({ publicUrl, securityContact, hasDocs, readOpenapi }: PublicRouteParts): Route[] {
  return [
    {
      method: "GET",
      path: "/openapi.json",
      summary: "This API's OpenAPI 3.1 document",
      description: "Made from the routes and schemas that the server runs.",
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
      summary: "What a problem means and what to do about it",
      description: "The page that the `type` of every error leads to.",
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
      summary: "This API for language models",
      description: "The same facts in a page of plain text.",
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
      summary: "Where to report a vulnerability",
      description: "RFC 9116. Not found where the operator has named no contact.",
      answer: "text/plain",
      problems: ["not_found"],
      handle: async (_request, reply) => {
        if (!securityContact) throw new Problem("not_found");
        reply.type("text/plain; charset=utf-8");
        const expires = new Date(Date.now() + 180 * aDayMs).toISOString();
        return `Contact: ${securityContact}\nExpires: ${expires}\nPreferred-Languages: en\n`;
      },
    },
  ];
}
