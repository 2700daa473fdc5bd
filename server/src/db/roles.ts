import pg from "pg";

/**
 * The owner has the tables and runs migrations. Servers and workers connect as the other roles: paid searches, one tenant's
 * rows, reports of the payment processor, operator actions, sign-in, and background jobs. None of them is a superuser or
 * bypasses row-level security.
 */
export const roles = {
  owner: "pennyblack_owner",
  ledger: "pennyblack_ledger",
  tenant: "pennyblack_tenant",
  payments: "pennyblack_payments",
  operator: "pennyblack_operator",
  people: "pennyblack_people",
  worker: "pennyblack_worker",
} as const;

/** The roles that servers and workers connect as. */
export const servingRoles = [roles.ledger, roles.tenant, roles.payments, roles.operator, roles.people, roles.worker];

/** The roles that the admin command switches to. The owner is a member of them, without inheriting their privileges. */
const adminRoles = ["tenant", "operator", "people", "worker"] as const;
export type CommandRole = "owner" | (typeof adminRoles)[number];
export const grantAdminRoles = `grant ${adminRoles.map((name) => roles[name]).join(", ")} to ${roles.owner}`;

/** Those that the pools of a server set. Behind a transaction pooler pools cannot set any, and these apply. */
const serverLimits = { idle_in_transaction_session_timeout: "5s", lock_timeout: "1s", statement_timeout: "5s" };

/**
 * Limits for sessions that do not set their own: psql, or servers behind a transaction pooler. An open transaction that waits
 * for its client keeps its locks, so each role has a limit for that. Migrations of the owner take as long as they need.
 */
export const roleLimits: Record<keyof typeof roles, Record<string, string>> = {
  owner: { idle_in_transaction_session_timeout: "10min", lock_timeout: "0", statement_timeout: "0" },
  ledger: serverLimits,
  tenant: serverLimits,
  payments: serverLimits,
  operator: serverLimits,
  people: serverLimits,
  worker: { idle_in_transaction_session_timeout: "10min", lock_timeout: "2s", statement_timeout: "1h" },
};

export type RolePasswords = Partial<Record<keyof typeof roles, string>>;

/** Creates missing roles, and sets their limits and the given passwords. Needs a superuser or CREATEROLE. */
export async function createRoles(client: pg.ClientBase, passwords: RolePasswords): Promise<void> {
  for (const [name, role] of Object.entries(roles) as [keyof typeof roles, string][]) {
    const { rows } = await client.query("select 1 from pg_roles where rolname = $1", [role]);
    const attributes = "login nosuperuser nocreatedb nocreaterole nobypassrls noinherit";
    const password = passwords[name] && `password ${pg.escapeLiteral(passwords[name])}`;
    // In one statement, so that no other process sees the role without its password.
    if (rows.length === 0) await client.query(`create role ${role} ${attributes} ${password ?? ""}`);
    else if (password) await client.query(`alter role ${role} ${password}`);
    for (const [setting, value] of Object.entries(roleLimits[name])) {
      await client.query(`alter role ${role} set ${setting} = ${pg.escapeLiteral(value)}`);
    }
  }
  // Lets the worker report replication lag.
  await grantIfAllowed(client, `grant pg_read_all_stats to ${roles.owner}, ${roles.worker}`);
  await grantIfAllowed(client, grantAdminRoles);
}

/** Not every admin role can grant every role. Without the grant, only what depends on it fails. */
async function grantIfAllowed(client: pg.ClientBase, grant: string): Promise<void> {
  await client.query(grant).catch((error: unknown) => {
    if (!(error instanceof pg.DatabaseError) || error.code !== "42501") throw error;
  });
}

/** Lets the owner create schemas in a database, and revokes everything from PUBLIC. */
export async function grantDatabase(client: pg.ClientBase, database: string): Promise<void> {
  await client.query(`revoke all on database ${pg.escapeIdentifier(database)} from public`);
  await admitRoles(client, database);
}

/** Grants our roles access to a database without revoking anything from others. */
export async function admitRoles(client: pg.ClientBase, database: string): Promise<void> {
  const name = pg.escapeIdentifier(database);
  await client.query(`grant connect, create, temporary on database ${name} to ${roles.owner}`);
  await client.query(`grant connect on database ${name} to ${servingRoles.join(", ")}`);
}

/** The same URL for another role. */
export function withRole(url: string, role: keyof typeof roles, password?: string): string {
  const changed = new URL(url);
  changed.username = roles[role];
  changed.password = password ?? "";
  return changed.href;
}

/**
 * Returns the reason a server must not use this connection, or undefined. Grants and policies do not restrict a superuser, the
 * owner, or a role that bypasses row-level security.
 */
export async function findRoleFault(client: Pick<pg.ClientBase, "query">): Promise<string | undefined> {
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

/**
 * Which limit this connection lacks, or undefined if it has those of a server. For connections through a transaction pooler,
 * which drops limits that are sent when connecting.
 */
export async function findLimitFault(client: Pick<pg.ClientBase, "query">): Promise<string | undefined> {
  const { rows } = await client.query<{ role: string; name: string; value: string; max: string }>(
    `select current_user as role, s.name, current_setting(s.name) as value, l.value as max
     from json_each_text($1) l join pg_settings s on s.name = l.key
     where s.setting::bigint not between 1 and extract(epoch from l.value::interval) * 1000
     order by s.name`,
    [JSON.stringify(serverLimits)],
  );
  const [fault] = rows;
  if (!fault) return undefined;
  return `${fault.role} has ${fault.name} = ${fault.value}, and behind a pooler it must have ${fault.max} or less. Run: npm run migrate, with PENNYBLACK_ADMIN_DATABASE_URL`;
}
