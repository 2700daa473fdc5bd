import { queryOptions } from "@tanstack/react-query";
import { api } from "./client.ts";
import type { Role } from "./session.ts";
import { walletPath } from "./wallet.ts";

export interface Member {
  person_id: string;
  email: string;
  name: string;
  role: Role;
  joined_at: string;
  you: boolean;
}

export interface Invitation {
  id: string;
  email: string;
  role: Role;
  expires_at: string;
}

export interface Team {
  members: Member[];
  invitations: Invitation[];
}

export const teamQuery = (walletId: string) =>
  queryOptions({
    queryKey: ["wallet", walletId, "team"],
    queryFn: () => api<Team>(walletPath(walletId, "members")),
  });

export const invitationQuery = (id: string) =>
  queryOptions({
    queryKey: ["invitation", id],
    queryFn: () => api<{ account_name: string; role: Role }>(`/console/api/invitations/${encodeURIComponent(id)}`),
  });
