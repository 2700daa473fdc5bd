import type { FastifyReply, FastifyRequest } from "fastify";
import type { Route } from "../http/route.ts";
import { Problem } from "../problems.ts";
import { consoleRoute } from "./console-parts.ts";
import { readSite, type SiteFile, type SitePage } from "./read-site.ts";

// The console's pages as `npm run console:build` left them. A request names an entry of a map that was filled from the
// folder; no path of a request ever reaches the file system.

/** `page` answers every address that is no file: the pages know their own addresses. Nothing is read before it is asked for. */
export function siteRoutes(folder: string, page: "index.html" | "operator.html"): Route[] {
  let site: ReturnType<typeof readSite> | undefined;
  const handle = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    site ??= readSite(folder);
    const name = (request.url.split("?", 1)[0] ?? "").slice("/console/".length);
    const file = site.files.get(name);
    if (file) return sendFile(file, request, reply);
    // An old page that asks for a file of an old build must not be given a page instead.
    if (/^(?:api|assets)(?:\/|$)/.test(name)) throw new Problem("not_found");
    const shown = site.pages.get(page);
    if (!shown) throw new Problem("not_found");
    return sendPage(shown, reply);
  };
  // Fastify takes "/console/" for "/console/*" with an empty name, which the server refuses as it does an empty id.
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
  const { "accept-encoding": accepted = "", "if-none-match": known } = request.raw.headers;
  reply.headers(file.headers);
  if (known === file.headers.etag) return reply.code(304).send();
  const { bytes, encoding } = await file.encode(accepted);
  if (encoding) reply.header("content-encoding", encoding);
  return reply.send(bytes);
}
