import { useSession } from "../../api/session.ts";

/** The link is not secret: it works only for a person who has signed in with the invited address. */
export function useInvitationLink(invitationId: string): string {
  return `${useSession().public_url}/console/invitations/${invitationId}`;
}
