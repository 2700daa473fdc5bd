import { queryOptions, useSuspenseQuery } from "@tanstack/react-query";
import { api } from "./client.ts";

export type Role = "owner" | "developer" | "viewer";

export interface WalletMembership {
  id: string;
  name: string;
  account_id: string;
  account_name: string;
  role: Role;
  suspended: boolean;
}

export interface Session {
  person: null | { id: string; email: string; name: string };
  /** On the internal listener, where an operator sees the pages of every wallet as a viewer. */
  operator?: string;
  fresh_until: string | null;
  wallets: WalletMembership[];
  sign_in: { email: boolean; oidc: null | { name: string }; sign_up: boolean };
  features: { payments: boolean; mail: boolean; topUpUrl?: string };
  top_up: { minimum: string; maximum: string };
  public_url: string;
}

export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: () => api<Session>("/console/api/session"),
  staleTime: 60_000,
});

/** For operators. */
export const membershipQuery = (walletId: string) =>
  queryOptions({
    queryKey: ["membership", walletId],
    queryFn: () => api<WalletMembership>(`/console/api/wallets/${encodeURIComponent(walletId)}`),
    staleTime: 60_000,
  });

export function useSession(): Session {
  return useSuspenseQuery(sessionQuery).data;
}
