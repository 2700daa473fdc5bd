export interface Link {
  token: string;
  /** The address that the link signs in. Undefined for invitations. */
  email: string | undefined;
  returnTo: string | undefined;
}

/** Parses the fragment of an emailed link. Fragments are not sent to servers. */
export function parseLink(fragment: string): Link | undefined {
  const parameters = new URLSearchParams(fragment.replace(/^#/, ""));
  const token = parameters.get("token");
  if (token === null || token === "") return undefined;
  return { token, email: readEmail(token), returnTo: parameters.get("return_to") ?? undefined };
}

/** The first 43 characters of a sign-in token are random. The rest is the address, in Base64url. */
function readEmail(token: string): string | undefined {
  try {
    const email = atob(token.slice(43).replaceAll("-", "+").replaceAll("_", "/"));
    return /^[!-~]+@[!-~]+$/.test(email) ? email : undefined;
  } catch {
    return undefined;
  }
}
