/** Where a person goes on after signing in: a page of this console and nothing else, whatever the address asks for. */
export function readReturnTo(wanted: string | undefined): string {
  const home = "/console/";
  if (wanted === undefined || /[\\\p{Cc}]/u.test(wanted)) return home;
  const base = "http://console.invalid";
  const url = URL.canParse(wanted, base) ? new URL(wanted, base) : undefined;
  const isOurs = url?.origin === base && wanted.startsWith("/console/") && url.pathname.startsWith("/console/");
  // Neither back to where they come from, nor to what is no page.
  if (!isOurs || /^\/console\/(?:sign-in|api)(?:\/|$)/.test(url.pathname)) return home;
  const path = url.pathname + url.search;
  // The server carries no more than that in a link.
  return path.length <= 512 ? path : home;
}
