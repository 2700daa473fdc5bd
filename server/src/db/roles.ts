import pg from "pg";

/**
 * The owner has the tables and runs migrations and jobs; the others are all the server has: paid searches, the books of
 * one tenant, the acts of an operator, and people who sign in. None is superuser, none bypasses row-level security.
 */
export const roles = {
  owner: "pennyblack_owner",
  ledger: "pennyblack_ledger",
  tenant: "pennyblack_tenant",
  operator: "pennyblack_operator",
  people: "pennyblack_people",
} as const;

/** Those that the server connects as. */
export const servingRoles = [roles.ledger, roles.tenant, roles.operator, roles.people];

export type RolePasswords = Partial<Record<keyof typeof roles, string>>;

/** Makes the roles where they are missing and sets the passwords given. Needs a superuser or CREATEROLE. */
export async function createRoles(client: pg.ClientBase, passwords: RolePasswords): Promise<void> {
  for (const [name, role] of Object.entries(roles) as [keyof typeof roles, string][]) {
    const { rows } = await client.query("select 1 from pg_roles where rolname = $1", [role]);
    const attributes = "login nosuperuser nocreatedb nocreaterole nobypassrls noinherit";
    if (rows.length === 0) await client.query(`create role ${role} ${attributes}`);
    const password = passwords[name];
    if (password) await client.query(`alter role ${role} password ${pg.escapeLiteral(password)}`);
  }
  // So that the worker can say how far replicas are behind. Not every admin may grant it, and nothing depends on it.
  await client.query(`grant pg_read_all_stats to ${roles.owner}`).catch((error: unknown) => {
    if (!(error instanceof pg.DatabaseError) || error.code !== "42501") throw error;
  });
}

/** Lets the owner make its schemas in a database, and nobody else anything. */
export async function grantDatabase(client: pg.ClientBase, database: string): Promise<void> {
  await client.query(`revoke all on database ${pg.escapeIdentifier(database)} from public`);
  await admitRoles(client, database);
}

/** Lets our roles into a database and takes nothing from others: for one that is not ours alone. */
export async function admitRoles(client: pg.ClientBase, database: string): Promise<void> {
  const name = pg.escapeIdentifier(database);
  await client.query(`grant connect, create, temporary on database ${name} to ${roles.owner}`);
  await client.query(`grant connect on database ${name} to ${servingRoles.join(", ")}`);
}

/** The same address for another role. */
export function withRole(url: string, role: keyof typeof roles, password?: string): string {
  const changed = new URL(url);
  changed.username = roles[role];
  changed.password = password ?? "";
  return changed.href;
}

/**
 * Says why a connection may not serve callers, or nothing if it may. A superuser, an owner or a role that
 * bypasses row-level security would make every grant and policy of ours decoration.
 */
export async function refuseRole(client: Pick<pg.ClientBase, "query">): Promise<string | undefined> {
  const { rows } = await client.query<{ name: string; super: boolean; bypass: boolean; owns: boolean }>(`
    select current_user as name, r.rolsuper as super, r.rolbypassrls as bypass,
      exists (
        select from pg_namespace n where n.nspname = 'pb' and pg_has_role(current_user, n.nspowner, 'member')
      ) as owns
    from pg_roles r where r.rolname = current_user`);
  const role = rows[0];
  if (!role) return "the connection's role does not exist";
  if (role.super) return `${role.name} is a superuser`;
  if (role.bypass) return `${role.name} bypasses row-level security`;
  if (role.owns) return `${role.name} owns the ledger's schema`;
  return undefined;
}
