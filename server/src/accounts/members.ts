import { DatabaseError } from "pg";
import type { Queryable } from "../db/pool.ts";

/** Owners do everything, developers manage keys and money, viewers read. */
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
  return changeMember(db, [member.accountId, member.personId, member.role]);
}

export function removeMember(db: Queryable, member: { accountId: string; personId: string }): Promise<MemberChange> {
  return changeMember(db, [member.accountId, member.personId, null]);
}

async function changeMember(db: Queryable, values: readonly unknown[]): Promise<MemberChange> {
  const change = db.query<{ outcome: MemberChange }>("select pb.change_member($1, $2, $3) as outcome", [...values]);
  return catchLastOwner(change.then(({ rows }) => rows[0]?.outcome ?? "not_found"));
}

/** Maps the deferred constraint, which the database checks at commit. The change must run in its own transaction. */
export async function catchLastOwner<Outcome>(change: Promise<Outcome>): Promise<Outcome | "last_owner"> {
  try {
    return await change;
  } catch (error) {
    if (error instanceof DatabaseError && error.constraint === "account_has_owner") return "last_owner";
    throw error;
  }
}
