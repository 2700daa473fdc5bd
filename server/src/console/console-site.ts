import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { FastifyReply, FastifyRequest } from "fastify";
import { createSiteReader, listFiles, sendFile, sendNotBuilt } from "../http/built-site.ts";
import type { Route } from "../http/route.ts";
import { Problem } from "../problems/problems.ts";
import { consoleRoute } from "./console-dependencies.ts";

// Serves the output of `npm run console:build`.

// Without its own route, Fastify matches "/console/" as "/console/*" with an empty parameter, which is rejected.
const allPaths = ["/console", "/console/", "/console/*"];

/** Serves `page` for every path that is not a file, because routing happens in the browser. */
export function siteRoutes(folder: string, page: "index.html" | "operator.html", paths = allPaths): Route[] {
  const currentSite = createSiteReader(folder, () => ({
    files: new Set(listFiles(folder).filter((name) => !name.endsWith(".html"))),
    html: readFileSync(join(folder, page), "utf8"),
  }));
  const handle = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const site = currentSite();
    if (!site) return sendNotBuilt(reply, { name: "Console", script: "console:build" });
    const name = (request.url.split("?", 1)[0] ?? "").slice("/console/".length);
    if (site.files.has(name)) return sendFile(request, reply, { folder, name });
    // A page from an old build must get 404 for its missing assets, not HTML.
    if (/^(?:api|assets)(?:\/|$)/.test(name)) throw new Problem("not_found");
    return sendPage(site.html, reply);
  };
  return paths.map((path) => consoleRoute({ method: "GET", path, handle }));
}

/** Inserts a new nonce each time, for styles injected at runtime. */
function sendPage(html: string, reply: FastifyReply): unknown {
  const nonce = randomBytes(16).toString("base64");
  reply.headers({
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-cache",
    "content-security-policy": policyFor(nonce),
  });
  return reply.send(html.replaceAll("PENNYBLACK_NONCE", nonce));
}

/**
 * Scripts are allowed only as files from this origin. Inline styles are allowed in attributes, which the charts need, and
 * in elements with the nonce; styles cannot load anything from other origins.
 */
function policyFor(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "style-src-attr 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}
