import pg from "pg";

// Refuses databases that are older than one already seen. After a failover the old primary can return and accept writes
// until it is demoted, and what it accepts is lost. PostgreSQL increases the timeline with every promotion, so a primary
// on an earlier timeline than the latest is such a one. Statements that move money carry the latest timeline as well
// (server/sql/timeline.sql), because a pooler can move an open connection to another server.

export interface DatabaseIdentity {
  /** Created by initdb. Replicas and physical backups have the one of their primary. */
  systemIdentifier: string;
  timeline: number;
}

export interface Fence {
  /** The database that is in use, with its latest timeline. Undefined before the first connection. */
  readonly latest: DatabaseIdentity | undefined;
  /** Throws RefusedDatabase if this primary must not be used. Otherwise remembers its timeline. */
  pass(identity: DatabaseIdentity): void;
  /** Remembers a timeline that another process or a replica has seen. Ignored if it is that of another database. */
  learn(identity: DatabaseIdentity): void;
  /** Decides which database is in use, when the process starts. */
  require(identity: DatabaseIdentity): void;
}

/** The database is not the one in use, or is an old primary. */
export class RefusedDatabase extends Error {}

export function createFence(): Fence {
  let latest: DatabaseIdentity | undefined;
  return {
    get latest() {
      return latest;
    },
    pass({ systemIdentifier, timeline }) {
      if (latest && systemIdentifier !== latest.systemIdentifier)
        throw new RefusedDatabase(
          `The database has the system identifier ${systemIdentifier}, and ${latest.systemIdentifier} is in use. If it was restored or replaced, stop all servers and run: npm run admin -- database accept`,
        );
      if (latest && timeline < latest.timeline)
        throw new RefusedDatabase(
          `The database is on timeline ${timeline}, and timeline ${latest.timeline} exists: it is an old primary.`,
        );
      latest = { systemIdentifier, timeline };
    },
    learn(identity) {
      const { systemIdentifier, timeline } = latest ?? { systemIdentifier: identity.systemIdentifier, timeline: 0 };
      if (identity.systemIdentifier === systemIdentifier && identity.timeline > timeline) latest = identity;
    },
    require(identity) {
      latest = identity;
    },
  };
}

/** Undefined if the database is a replica. */
export async function readIdentity(db: Pick<pg.ClientBase, "query">): Promise<DatabaseIdentity | undefined> {
  const { rows } = await db.query<{ identity: string | null }>(identityQuery);
  return parseIdentity(rows[0]?.identity);
}

/** The latest timeline that a replica knows of. Undefined before the database is set up. */
export async function readReplicaIdentity(db: Pick<pg.ClientBase, "query">): Promise<DatabaseIdentity | undefined> {
  try {
    const { rows } = await db.query<{ identity: string | null }>(replicaQuery);
    return parseIdentity(rows[0]?.identity);
  } catch (error) {
    if (error instanceof pg.DatabaseError && [undefinedFunction, undefinedSchema].includes(error.code ?? "")) return;
    throw error;
  }
}

function parseIdentity(text: string | null | undefined): DatabaseIdentity | undefined {
  const [systemIdentifier, timeline] = text?.split(" ") ?? [];
  if (systemIdentifier === undefined || timeline === undefined) return undefined;
  return { systemIdentifier, timeline: Number.parseInt(timeline, 16) };
}

const undefinedFunction = "42883";
const undefinedSchema = "3F000";

// One text column: the system identifier and the timeline in hexadecimal.
const identityQuery = `
  select case when not pg_is_in_recovery()
    then system_identifier || ' ' || left(pg_walfile_name(pg_current_wal_lsn()), 8) end as identity
  from pg_control_system()`;
const replicaQuery = `
  select system_identifier || ' ' || to_hex(pb.read_replica_timeline()) as identity from pg_control_system()`;
