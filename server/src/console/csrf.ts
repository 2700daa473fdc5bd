import type { FastifyRequest } from "fastify";
import { isReading } from "../http/route.ts";
import { Problem } from "../problems/problems.ts";

/**
 * Accepts writes only from the console's own pages. Another site can make a browser send a form with our cookie, but
 * cannot set this header or our Origin. Reads need no check, because other sites cannot see the response.
 */
export function rejectForgedRequest(request: FastifyRequest, publicUrl: string): void {
  if (isReading(request.method)) return;
  const { origin, "sec-fetch-site": site, "x-pennyblack-csrf": csrfHeader } = request.raw.headers;
  const isOwnOrigin = origin === undefined || origin === new URL(publicUrl).origin || areLocal(origin, publicUrl);
  const isOwnSite = site === undefined || site === "same-origin";
  if (csrfHeader !== "1" || !isOwnOrigin || !isOwnSite) throw new Problem("csrf_refused");
}

/** In development the pages may have another port than the API, or another local host name. */
function areLocal(...urls: string[]): boolean {
  return urls.every(
    (url) => URL.canParse(url) && /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])$/.test(withoutPort(url)),
  );
}

function withoutPort(url: string): string {
  const { protocol, hostname } = new URL(url);
  return `${protocol}//${hostname}`;
}
