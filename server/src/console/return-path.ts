/** A path of the console's own pages, or undefined: whoever writes a link must not choose where a sign-in leads. */
export function readReturnPath(text: string): string | undefined {
  const isPlain = /^\/console(?:[/?][\w\-./~!$&'()*+,;=:@%?]*)?$/.test(text) && text.length <= 512;
  if (!isPlain || text.includes("//") || text.startsWith("/console/api")) return undefined;
  // Dots may lead out of the console once a browser has resolved them.
  const { pathname } = new URL(text, "http://console.invalid");
  return /^\/console(?:\/|$)/.test(pathname) && !pathname.startsWith("/console/api") ? text : undefined;
}
