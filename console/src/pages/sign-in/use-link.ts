import { useLocation, useRouter } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import { type Link, parseLink } from "./parse-link.ts";

/**
 * The sign-in link in the URL. Its token is removed from the address bar and the history immediately. Also handles a
 * link pasted into an open page, which changes only the fragment.
 */
export function useLink(): Link | undefined {
  const { hash, pathname, searchStr } = useLocation();
  const { history } = useRouter();
  const current = useMemo(() => parseLink(hash), [hash]);
  const [saved, setSaved] = useState<Link>();
  useEffect(() => {
    if (!current) return;
    setSaved(current);
    history.replace(`/console${pathname.replace(/^\/console/, "")}${searchStr}`);
  }, [current, history, pathname, searchStr]);
  return current ?? saved;
}
