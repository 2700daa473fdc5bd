export interface Link {
  token: string;
  returnTo: string | undefined;
}

/** What a mailed link carries behind its `#`, where no server and no log sees it. */
export function readLink(fragment: string): Link | undefined {
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  const token = given.get("token");
  if (token === null || token === "") return undefined;
  return { token, returnTo: given.get("return_to") ?? undefined };
}
