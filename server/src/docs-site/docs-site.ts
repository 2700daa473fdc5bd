import type { FastifyReply, FastifyRequest } from "fastify";
import type { Route } from "../http/route.ts";
import { readSite, type SiteFile } from "./read-site.ts";

// The docs as `npm run docs:build` left them, under /docs. A request names an entry of a map that was filled from the
// folder; no path of a request ever reaches the file system.

type Page = Pick<Route, "summary" | "description" | "answer" | "problems">;

const page: Page = { summary: "The docs", description: "For people.", answer: "text/html", problems: ["not_found"] };

/** Nothing is read before the first request asks for it. */
export function docsRoutes(folder: string): Route[] {
  let files: ReadonlyMap<string, SiteFile> | undefined;
  const handle = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    files ??= readSite(folder);
    return answer(files, request, reply);
  };
  // Fastify takes "/docs/" for "/docs/*" with an empty name, which the server refuses as it does an empty id.
  return ["/docs", "/docs/", "/docs/*"].map((path) => ({ method: "GET", path, ...page, handle }));
}

function answer(files: ReadonlyMap<string, SiteFile>, request: FastifyRequest, reply: FastifyReply): unknown {
  const path = request.url.split("?", 1)[0] ?? "";
  const name = path.slice("/docs/".length);
  const isFolder = path === "/docs" || files.has(`${name}/index.html`);
  if (isFolder) return reply.code(308).header("location", `${path}/`).send();

  const file =
    files.get(name) ?? files.get(`${name}.html`) ?? (/(?:^|\/)$/.test(name) && files.get(`${name}index.html`));
  if (file) return send(file, request, reply);
  const missing = files.get("404.html");
  reply.code(404);
  return missing ? send(missing, request, reply) : reply.send();
}

function send({ bytes, headers }: SiteFile, request: FastifyRequest, reply: FastifyReply): unknown {
  reply.headers(headers);
  const isKnown = reply.statusCode === 200 && request.raw.headers["if-none-match"] === headers.etag;
  return isKnown ? reply.code(304).send() : reply.send(bytes);
}
