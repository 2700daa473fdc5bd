import type { FastifyRequest } from "fastify";
import { Problem } from "../problems.ts";

/**
 * A change is asked for by the console's own pages: another site can make a browser send a form with our cookie, but not
 * this header, and not under our origin. Reading needs none of it: answers are not shown to other sites.
 */
export function refuseForgery(request: FastifyRequest, publicUrl: string): void {
  if (request.method === "GET") return;
  const { origin, "sec-fetch-site": site, "x-pennyblack-csrf": mark } = request.raw.headers;
  const isOwnOrigin = origin === undefined || origin === new URL(publicUrl).origin || areLocal(origin, publicUrl);
  const isOwnSite = site === undefined || site === "same-origin";
  if (mark !== "1" || !isOwnOrigin || !isOwnSite) throw new Problem("csrf_refused");
}

/** On a developer's machine the pages may come from another port than the API, or from its other name. */
function areLocal(...urls: string[]): boolean {
  return urls.every(
    (url) => URL.canParse(url) && /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])$/.test(withoutPort(url)),
  );
}

function withoutPort(url: string): string {
  const { protocol, hostname } = new URL(url);
  return `${protocol}//${hostname}`;
}
