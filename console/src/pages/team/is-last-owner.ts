import type { Member } from "../../api/team.ts";

/** The last owner cannot leave, because only owners can manage the team. */
export function isLastOwner(
  member: Pick<Member, "person_id" | "role">,
  members: readonly Pick<Member, "role">[],
): boolean {
  return member.role === "owner" && members.filter(({ role }) => role === "owner").length === 1;
}
