import type { Role } from "../accounts/accounts.ts";
import { toIso } from "./sessions.ts";

export interface Team {
  members: { person_id: string; email: string; name: string; role: Role; joined_at: string; you: boolean }[];
  invitations: { id: string; email: string; role: Role; expires_at: string }[];
}

/** A team as pb.describe_team returns it. */
export function serializeTeam({ members, invitations }: Team): Team {
  return {
    members: members.map((member) => ({ ...member, joined_at: toIso(member.joined_at) })),
    invitations: invitations.map((invitation) => ({ ...invitation, expires_at: toIso(invitation.expires_at) })),
  };
}
