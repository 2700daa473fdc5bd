import type { Key } from "@pennyblack/sdk";
import { queryOptions } from "@tanstack/react-query";
import { api } from "./client.ts";
import { walletPath } from "./wallet.ts";

export interface App {
  key_id: string;
  client_id: string;
  /** The person who connected it. */
  email: string;
  you: boolean;
}

export interface AppList {
  /** Whether the person has signed in through the provider, so that tokens can be matched with them. */
  has_identity: boolean;
  /** The wallet that the person's new apps spend from, and the budget of each. Null if turned off. */
  settings: { wallet_id: string; budget: { day: string } } | null;
  apps: App[];
}

export const appsQuery = (walletId: string) =>
  queryOptions({
    queryKey: ["wallet", walletId, "apps"],
    queryFn: () => api<AppList>(walletPath(walletId, "apps")),
    refetchInterval: 30_000,
  });

/** The key of a connected app, which has no secret. */
export function isAppKey({ start }: Pick<Key, "start">): boolean {
  return start === "oauth";
}
