import { isIP } from "node:net";
import { isPublicAddress } from "./public-address.ts";

/**
 * Returns what is wrong with a webhook URL, or undefined. This is early feedback for the owner only: the address that a
 * host name resolves to is checked when the connection is made.
 */
export function findUrlError(text: string, { allowPrivate }: { allowPrivate: boolean }): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url) return "must be a URL";
  if (url.protocol !== "https:" && !(allowPrivate && url.protocol === "http:")) return "must start with `https://`";
  if (url.username || url.password) return "must not contain credentials: every request is signed";
  if (url.hash) return "must not contain a fragment";
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (!allowPrivate && isIP(host) !== 0 && !isPublicAddress(host)) return "must be on the public internet";
  return undefined;
}
