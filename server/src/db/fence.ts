import { randomUUID } from "node:crypto";
import pg from "pg";

// Refuses databases that lack acknowledged transactions. After a failover, the old primary can return and accept
// writes that are then lost. PostgreSQL increases the number of the timeline with every promotion, but two nodes
// that are promoted from the same timeline get the same number. So a timeline is its number and a random token, which the
// first transaction that moves money on it writes and replicates (server/sql/timeline.sql).
//
//   seen so far     this database          decision
//   1:a             1:a, 2 without token   used: it was promoted, and no money has moved since
//   1:a 2:b         1:a 2:b 3:c            used
//   1:a 2:b         1:a                    refused: an old primary
//   1:a 2:b         1:a 2:c                refused: another node was promoted to timeline 2
//
// Statements that move money name the timeline as well, because a pooler can move an open connection to another server.

export interface DatabaseIdentity {
  /** Created by initdb. Replicas and physical backups have the one of their primary. */
  systemIdentifier: string;
  /** The current one; of a replica, the latest that it has seen. */
  timeline: number;
  /** The timelines on which money was moved, as "number:token". */
  history: readonly string[];
}

export interface Fence {
  /** The database that is in use. Undefined before the first connection. */
  readonly latest: DatabaseIdentity | undefined;
  /** The timeline for statements that move money, as pb.require_timeline expects it. Undefined before the first connection. */
  readonly expected: string | undefined;
  /** Throws RefusedDatabase if this primary must not be used. Otherwise stores its history. */
  pass(identity: DatabaseIdentity): void;
  /** Stores the history seen by another process or a replica. Ignored if it belongs to another database. */
  learn(identity: DatabaseIdentity): void;
  /** Sets the database in use, when the process starts or an operator has accepted another one. */
  require(identity: DatabaseIdentity): void;
}

/** The database is not the one in use, is an old primary, or has another history. */
export class RefusedDatabase extends Error {}

export function createFence(): Fence {
  let latest: DatabaseIdentity | undefined;
  let proposed = "";
  return {
    get latest() {
      return latest;
    },
    get expected() {
      if (!latest) return undefined;
      const prefix = `${latest.timeline}:`;
      const known = latest.history.find((entry) => entry.startsWith(prefix));
      if (known !== undefined) return known;
      // The statement writes this token if no money has moved on the timeline yet.
      if (!proposed.startsWith(prefix)) proposed = `${prefix}${randomUUID()}`;
      return [proposed, "new", ...latest.history.slice(-1)].join(" ");
    },
    pass(identity) {
      const { systemIdentifier, timeline, history } = identity;
      if (latest && systemIdentifier !== latest.systemIdentifier)
        throw new RefusedDatabase(
          `The database has the system identifier ${systemIdentifier}, and ${latest.systemIdentifier} is in use. If it was restored or replaced, run: npm run admin -- database accept`,
        );
      if (latest && timeline < latest.timeline)
        throw new RefusedDatabase(
          `The database is on timeline ${timeline}, and timeline ${latest.timeline} exists: it is an old primary.`,
        );
      const missing = latest ? missingFrom(history, latest.history) : undefined;
      if (missing !== undefined)
        throw new RefusedDatabase(
          `The database lacks timeline ${missing}, on which money was moved: another node was promoted to the same timeline, or a backup was restored. See docs/runbooks/two-primaries.md`,
        );
      latest = { systemIdentifier, timeline, history };
    },
    learn({ systemIdentifier, timeline, history }) {
      if (latest && systemIdentifier !== latest.systemIdentifier) return;
      latest = {
        systemIdentifier,
        timeline: Math.max(timeline, latest?.timeline ?? 0),
        history: [...new Set([...(latest?.history ?? []), ...history])],
      };
    },
    require({ systemIdentifier, timeline, history }) {
      latest = { systemIdentifier, timeline, history };
    },
  };
}

/** Whether no money has moved on an expected timeline, as far as this process knows. */
export function isProposed(expected: string): boolean {
  return expected.includes(" new");
}

/** The first entry of `required` that the history lacks. */
export function missingFrom(history: readonly string[], required: readonly string[]): string | undefined {
  return required.find((entry) => !history.includes(entry));
}

export interface HostIdentity extends DatabaseIdentity {
  isReplica: boolean;
  /** Replicas that are connected to it. */
  replicas: number;
}

export async function readIdentity(db: Pick<pg.ClientBase, "query">): Promise<HostIdentity> {
  const read = async (sql: string): Promise<HostIdentity> =>
    parseIdentity((await db.query<{ identity: string }>(sql)).rows[0]?.identity ?? "");
  return read("select pb.read_identity() as identity").catch((error: unknown) => {
    if (error instanceof pg.DatabaseError && isNotSetUp.includes(error.code ?? "")) return read(identityWithoutSchema);
    throw error;
  });
}

/**
 * Reads which database this is, and throws RefusedDatabase if it must not be used. The fence can learn more during the query,
 * for example that money has moved, so a refused identity is read again if it has.
 */
export async function checkIdentity(db: Pick<pg.ClientBase, "query">, fence: Fence): Promise<void> {
  await againIfOutdated(fence, async () => {
    const identity = await readIdentity(db);
    if (!identity.isReplica) fence.pass(identity);
  });
}

export async function againIfOutdated<Result>(fence: Fence | undefined, check: () => Promise<Result>): Promise<Result> {
  const known = fence?.latest;
  try {
    return await check();
  } catch (error) {
    if (!(error instanceof RefusedDatabase) || fence?.latest === known) throw error;
    return await check();
  }
}

/** The text form of an identity, which is also used in Redis. */
export function formatIdentity({ systemIdentifier, timeline, history }: DatabaseIdentity): string {
  return `${systemIdentifier} ${timeline} ${history.join(",")}`;
}

export function parseIdentity(text: string): HostIdentity {
  const [systemIdentifier = "", timeline = "", history = "", role, replicas = "0"] = text.split(" ");
  return {
    systemIdentifier,
    timeline: Number(timeline),
    history: history.split(",").filter(Boolean),
    isReplica: role === "replica",
    replicas: Number(replicas),
  };
}

/** The schema, the function, or its execution for this role does not exist yet. */
const isNotSetUp = ["3F000", "42883", "42501"];

const identityWithoutSchema = `
  select format('%s %s  %s %s', system_identifier,
    case when pg_is_in_recovery() then 0 else ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer end,
    case when pg_is_in_recovery() then 'replica' else 'primary' end,
    (select count(*) from pg_stat_replication)) as identity
  from pg_control_system()`;
