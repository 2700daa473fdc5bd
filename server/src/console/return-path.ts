/** Accepts only paths of console pages, to prevent open redirects after sign-in. */
export function readReturnPath(text: string): string | undefined {
  const isPlain = /^\/console(?:[/?][\w\-./~!$&'()*+,;=:@%?]*)?$/.test(text) && text.length <= 512;
  if (!isPlain || text.includes("//") || text.startsWith("/console/api")) return undefined;
  // Check the resolved path: dots could lead out of the console.
  const { pathname } = new URL(text, "http://console.invalid");
  return /^\/console(?:\/|$)/.test(pathname) && !pathname.startsWith("/console/api") ? text : undefined;
}
