import { Anchor } from "@mantine/core";

/** The owner's pages, which read the account with the session of the operator. */
export function AccountLink({ id, url = "", path = "" }: { id: string; url?: string; path?: string }) {
  return (
    <Anchor href={`${url}/console/w/${id}${path}`} size="sm">
      {path === "" ? "Account pages" : "Open in the account pages"}
    </Anchor>
  );
}
