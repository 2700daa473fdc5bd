import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { FastifyReply, FastifyRequest } from "fastify";
import { createSiteReader, listFiles, sendFile, sendNotBuilt } from "../http/built-site.ts";
import type { Route } from "../http/route.ts";

// Serves the output of `npm run docs:build` under /docs.

type Page = Pick<Route, "operationId" | "tag" | "summary" | "description" | "answer" | "problems">;

const page: Page = {
  operationId: "getDocs",
  tag: "Documents",
  summary: "Docs",
  description: "HTML pages.",
  answer: "text/html",
  problems: ["not_found"],
};

export function docsRoutes(folder: string): Route[] {
  const currentPolicies = createSiteReader(folder, readPolicies);
  const handle = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const policies = currentPolicies();
    if (!policies) return sendNotBuilt(reply, { name: "Docs", script: "docs:build" });
    const path = request.url.split("?", 1)[0] ?? "";
    const requested = path.slice("/docs/".length);
    const isFolder = path === "/docs" || policies.has(`${requested}/index.html`);
    if (isFolder) return reply.code(308).header("location", `${path}/`).send();
    const names = [requested, `${requested}.html`, requested.replace(/(^|\/)$/, "$1index.html")];
    const found = names.find((candidate) => policies.has(candidate));
    if (found === undefined) reply.code(404);
    const name = found ?? "404.html";
    if (!policies.has(name)) return reply.send();
    return sendFile(request, reply.headers(policies.get(name) ?? {}), { folder, name });
  };
  // Fastify matches "/docs/" as "/docs/*" with an empty parameter, which the server rejects.
  return ["/docs", "/docs/", "/docs/*"].map((path) => ({ method: "GET", path, ...page, handle }));
}

/** Every file of the site, with the content security policy of a page. */
function readPolicies(folder: string): ReadonlyMap<string, Record<string, string>> {
  const policyOf = (name: string) => ({
    "content-security-policy": createPolicy(readFileSync(join(folder, name), "utf8")),
  });
  return new Map(listFiles(folder).map((name) => [name, name.endsWith(".html") ? policyOf(name) : {}]));
}

/**
 * Allows our own scripts and, by hash, the inline scripts the page was built with. Style attributes are allowed, because
 * syntax highlighting uses them; styles cannot load anything from other origins.
 */
function createPolicy(html: string): string {
  const inline = [...html.matchAll(/<script(?![^>]*\ssrc=)[^>]*>(.*?)<\/script>/gs)].map(
    ([, text = ""]) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`,
  );
  return [
    "default-src 'none'",
    ["script-src 'self'", ...new Set(inline)].join(" "),
    "style-src 'self'",
    "style-src-attr 'unsafe-inline'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}
