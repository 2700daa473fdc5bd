import type { Member } from "../../api/team.ts";

/** An account without an owner could never be led again, so the last one stays. */
export function isLastOwner(
  member: Pick<Member, "person_id" | "role">,
  members: readonly Pick<Member, "role">[],
): boolean {
  return member.role === "owner" && members.filter(({ role }) => role === "owner").length === 1;
}
