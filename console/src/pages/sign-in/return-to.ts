/** The page to open after sign-in. Allows only pages of this console, to prevent open redirects. */
export function safeReturnTo(requested: string | undefined): string {
  const home = "/console/";
  const base = "http://console.invalid";
  if (!requested?.startsWith(home) || !URL.canParse(requested, base)) return home;
  // Check the resolved URL: dots and backslashes could lead out of the console.
  const { pathname, search } = new URL(requested, base);
  const path = pathname + search;
  // Not the sign-in page or the API. The server accepts at most 512 characters.
  const isPage = pathname.startsWith(home) && !/^\/console\/(?:sign-in|api)(?:\/|$)/.test(pathname);
  return isPage && path.length <= 512 ? path : home;
}
