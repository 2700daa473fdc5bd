import { useLocation, useRouter } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import { type Link, readLink } from "./read-link.ts";

/**
 * The link that led here. Its token leaves the address bar at once, so that it is in no screenshot and no history. A
 * link that is pasted into an open page changes the fragment alone and loads nothing; that is noticed too.
 */
export function useLink(): Link | undefined {
  const { hash, pathname, searchStr } = useLocation();
  const { history } = useRouter();
  const found = useMemo(() => readLink(hash), [hash]);
  const [kept, setKept] = useState<Link>();
  useEffect(() => {
    if (!found) return;
    setKept(found);
    history.replace(`/console${pathname.replace(/^\/console/, "")}${searchStr}`);
  }, [found, history, pathname, searchStr]);
  return found ?? kept;
}
