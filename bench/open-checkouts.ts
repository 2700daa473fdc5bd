import { resolve } from "node:path";
import { type Checkout, openCheckout } from "./checkout.ts";

/** This checkout and, with `--before`, the other one in a second database of the same PostgreSQL server. */
export async function openCheckouts(
  adminUrl: string,
  beforeFolder: string | undefined,
  wallets: number,
): Promise<{ current: Checkout; before?: Checkout }> {
  const current = await openCheckout(adminUrl, wallets);
  if (beforeFolder === undefined) return { current };
  const url = new URL(adminUrl);
  url.pathname = "/before";
  const other = (await import(resolve(beforeFolder, "bench/checkout.ts"))) as { openCheckout: typeof openCheckout };
  return { current, before: await other.openCheckout(url.href, wallets) };
}
