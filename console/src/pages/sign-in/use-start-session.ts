import { useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useCallback } from "react";
import { type Session, sessionQuery } from "../../api/session.ts";
import { readReturnTo } from "./return-to.ts";

/** Goes on as the person of this session. */
export function useEnter(): (session: Session, returnTo: string | undefined) => void {
  const queries = useQueryClient();
  const { history } = useRouter();
  return useCallback(
    (session, returnTo) => {
      // What was read before may belong to someone else.
      queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== "session" });
      queries.setQueryData(sessionQuery.queryKey, session);
      history.replace(readReturnTo(returnTo));
    },
    [queries, history],
  );
}
