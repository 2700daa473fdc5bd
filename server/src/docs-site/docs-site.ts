import type { FastifyReply, FastifyRequest } from "fastify";
import { createSiteReader, sendNotBuilt } from "../http/built-site.ts";
import type { Route } from "../http/route.ts";
import { readSite, type SiteFile } from "./site-files.ts";

// Serves the output of `npm run docs:build` under /docs. Requests are looked up in a map of the folder's files; no path of a
// request ever reaches the file system.

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
  const currentFiles = createSiteReader(folder, readSite);
  const handle = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const files = currentFiles();
    return files ? respond(files, request, reply) : sendNotBuilt(reply, { name: "Docs", script: "docs:build" });
  };
  // Fastify matches "/docs/" as "/docs/*" with an empty parameter, which the server rejects.
  return ["/docs", "/docs/", "/docs/*"].map((path) => ({ method: "GET", path, ...page, handle }));
}

function respond(files: ReadonlyMap<string, SiteFile>, request: FastifyRequest, reply: FastifyReply): unknown {
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
  const isUnchanged = reply.statusCode === 200 && request.raw.headers["if-none-match"] === headers.etag;
  return isUnchanged ? reply.code(304).send() : reply.send(bytes);
}
