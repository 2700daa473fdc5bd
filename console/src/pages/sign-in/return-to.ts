/** Where a person goes on after signing in: a page of this console and nothing else, whatever the address asks for. */
export function readReturnTo(wanted: string | undefined): string {
  const home = "/console/";
  const base = "http://console.invalid";
  if (!wanted?.startsWith(home) || !URL.canParse(wanted, base)) return home;
  // As a browser reads it: dots and backslashes have been resolved, and may have led out.
  const { pathname, search } = new URL(wanted, base);
  const path = pathname + search;
  // Neither back to the door, nor to what is no page, nor to more than the server carries in a link.
  const isPage = pathname.startsWith(home) && !/^\/console\/(?:sign-in|api)(?:\/|$)/.test(pathname);
  return isPage && path.length <= 512 ? path : home;
}
