import type { FastifyReply, FastifyRequest } from "fastify";
import { createSiteReader, sendNotBuilt } from "../http/built-site.ts";
import type { Route } from "../http/route.ts";
import { Problem } from "../problems/problems.ts";
import { consoleRoute } from "./console-dependencies.ts";
import { readSite, type SiteFile, type SitePage } from "./site-files.ts";

// Serves the output of `npm run console:build` from a map filled at the first request. Request paths never reach the
// file system.

/** Serves `page` for every path that is not a file, because routing happens in the browser. */
export function siteRoutes(folder: string, page: "index.html" | "operator.html"): Route[] {
  const currentSite = createSiteReader(folder, readSite);
  const handle = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const site = currentSite();
    if (!site) return sendNotBuilt(reply, { name: "Console", script: "console:build" });
    const name = (request.url.split("?", 1)[0] ?? "").slice("/console/".length);
    const file = site.files.get(name);
    if (file) return sendFile(file, request, reply);
    // A page from an old build must get 404 for its missing assets, not HTML.
    if (/^(?:api|assets)(?:\/|$)/.test(name)) throw new Problem("not_found");
    const sitePage = site.pages.get(page);
    if (!sitePage) throw new Problem("not_found");
    return sendPage(sitePage, reply);
  };
  // Without its own route, Fastify matches "/console/" as "/console/*" with an empty parameter, which is rejected.
  return ["/console", "/console/", "/console/*"].map((path) => consoleRoute({ method: "GET", path, handle }));
}

function sendPage(page: SitePage, reply: FastifyReply): unknown {
  const { html, policy } = page.render();
  reply.headers({
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-cache",
    "content-security-policy": policy,
  });
  return reply.send(html);
}

async function sendFile(file: SiteFile, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { "accept-encoding": acceptEncoding = "", "if-none-match": cachedEtag } = request.raw.headers;
  reply.headers(file.headers);
  if (cachedEtag === file.headers.etag) return reply.code(304).send();
  const { bytes, encoding } = await file.encode(acceptEncoding);
  if (encoding) reply.header("content-encoding", encoding);
  return reply.send(bytes);
}
