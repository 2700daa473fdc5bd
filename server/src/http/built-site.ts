import { readdirSync, statSync } from "node:fs";
import fastifyStatic from "@fastify/static";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { leaveSlot } from "../limits/occupied-slots.ts";
import { plainPage, plainPagePolicy } from "./plain-page.ts";

// Files of the built sites. The build compresses them (tools/compress-files.ts).

/** Needed once per server that has routes of a built site. */
export function addSiteFiles(app: FastifyInstance): void {
  app.register(fastifyStatic, { serve: false, preCompressed: true });
}

const servedName = /^(?:[^./][^/]*\/)*[^./][^/]*\.(?:css|html|js|json|md|png|svg|woff2)$/;

/** The files to serve, by their path in the folder. Requests are looked up here; other paths never reach the file system. */
export function listFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => servedName.test(name));
}

/** Sends a listed file in the best encoding that the browser accepts, or 304. */
export function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { folder, name }: { folder: string; name: string },
): FastifyReply {
  // Its browser can read as slowly as it likes.
  leaveSlot(request);
  // disableBodyParsing hides them, and the plugin reads Accept-Encoding.
  request.headers = request.raw.headers;
  // File names in assets/ contain a content hash.
  const isHashed = name.startsWith("assets/");
  reply.header("cache-control", isHashed ? "public, max-age=31536000, immutable" : "public, no-cache");
  // A page that reports an error is sent in full, even if the browser has a cached one.
  const isError = reply.statusCode !== 200;
  return reply.sendFile(name, folder, {
    cacheControl: false,
    acceptRanges: false,
    etag: !isError,
    lastModified: !isError,
  });
}

/**
 * Reads a built site at the first request, and again after its folder was replaced, as `npm run dev` does. The returned
 * function returns undefined while the folder does not exist.
 */
export function createSiteReader<Site>(folder: string, read: (folder: string) => Site): () => Site | undefined {
  let inode: number | undefined;
  let site: Site | undefined;
  return () => {
    const current = statSync(folder, { throwIfNoEntry: false })?.ino;
    if (current === undefined) return undefined;
    if (current !== inode) site = read(folder);
    inode = current;
    return site;
  };
}

/** Reloads itself, because `npm run dev` builds the sites while the server is already running. */
export function sendNotBuilt(reply: FastifyReply, { name, script }: { name: string; script: string }): unknown {
  reply.code(404).headers({
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": plainPagePolicy,
    "cache-control": "no-store",
    refresh: "3",
  });
  return reply.send(
    plainPage(
      `${name} not built`,
      `<h1>${name} not built</h1>
<p><code>npm run dev</code> builds this site in the background. The page reloads until the build is complete.</p>
<p>On other servers, build it with <code>npm run ${script}</code>.</p>`,
    ),
  );
}
