import { isIP } from "node:net";
import { isPublicAddress } from "./public-address.ts";

/**
 * What is wrong with a receiver's address, or nothing. Only to tell an owner early: what a name leads to is judged
 * when the connection is made.
 */
export function faultOfUrl(text: string, { allowPrivate }: { allowPrivate: boolean }): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url) return "must be a URL";
  if (url.protocol !== "https:" && !(allowPrivate && url.protocol === "http:")) return "must begin with https://";
  if (url.username || url.password) return "must not have credentials: every call is signed";
  if (url.hash) return "must not have a fragment";
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (!allowPrivate && isIP(host) !== 0 && !isPublicAddress(host)) return "must be on the public internet";
  return undefined;
}
