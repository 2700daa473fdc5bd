import { DatabaseError } from "pg";
import type { Queryable } from "../db/pool.ts";

/** An owner does everything, a developer keys and money, a viewer reads. */
export const roles = ["owner", "developer", "viewer"] as const;
export type Role = (typeof roles)[number];

export interface Member {
  personId: string;
  email: string;
  name: string;
  role: Role;
  joinedAt: Date;
}

/** Owners first, then in the order they joined. */
export async function listMembers(db: Queryable, accountId: string): Promise<Member[]> {
  const { rows } = await db.query<Member>(
    `select p.id as "personId", p.email, p.name, m.role, m.joined_at as "joinedAt"
     from pb.members m join pb.people p on p.id = m.person_id
     where m.account_id = $1 order by m.role, m.joined_at`,
    [accountId],
  );
  return rows;
}

export type MemberChange = "done" | "not_found" | "last_owner";

export function changeRole(
  db: Queryable,
  member: { accountId: string; personId: string; role: Role },
): Promise<MemberChange> {
  return keepingAnOwner(
    db.query("update pb.members set role = $3 where account_id = $1 and person_id = $2", [
      member.accountId,
      member.personId,
      member.role,
    ]),
  );
}

export function removeMember(db: Queryable, member: { accountId: string; personId: string }): Promise<MemberChange> {
  return keepingAnOwner(
    db.query("delete from pb.members where account_id = $1 and person_id = $2", [member.accountId, member.personId]),
  );
}

/** The database looks at the owners who are left when the statement commits; here that is its end. */
async function keepingAnOwner(change: Promise<{ rowCount: number | null }>): Promise<MemberChange> {
  try {
    return (await change).rowCount === 1 ? "done" : "not_found";
  } catch (error) {
    if (error instanceof DatabaseError && error.constraint === "an_owner_remains") return "last_owner";
    throw error;
  }
}
