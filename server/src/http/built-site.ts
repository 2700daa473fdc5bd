import { statSync } from "node:fs";
import type { FastifyReply } from "fastify";
import { plainPage, plainPagePolicy } from "./plain-page.ts";

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
