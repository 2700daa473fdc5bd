import { useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useCallback } from "react";
import { type Session, sessionQuery } from "../../api/session.ts";
import { safeReturnTo } from "./return-to.ts";

export function useStartSession(): (session: Session, returnTo: string | undefined) => void {
  const queries = useQueryClient();
  const { history } = useRouter();
  return useCallback(
    (session, returnTo) => {
      // The cached data may belong to another user.
      queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== "session" });
      queries.setQueryData(sessionQuery.queryKey, session);
      history.replace(safeReturnTo(returnTo));
    },
    [queries, history],
  );
}
