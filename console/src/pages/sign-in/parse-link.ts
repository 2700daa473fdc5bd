export interface Link {
  token: string;
  returnTo: string | undefined;
}

/** Parses the fragment of an emailed link. Fragments are not sent to servers. */
export function parseLink(fragment: string): Link | undefined {
  const parameters = new URLSearchParams(fragment.replace(/^#/, ""));
  const token = parameters.get("token");
  if (token === null || token === "") return undefined;
  return { token, returnTo: parameters.get("return_to") ?? undefined };
}
