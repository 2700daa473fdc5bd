import pg from "pg";

/** The name under which the replica connects, and by which the primary waits for it. */
export const replicaName = "pennyblack_replica";

export type View =
  | { role: "down"; why: string }
  | { role: "replica"; isStreaming: boolean }
  | {
      role: "primary";
      timeline: number;
      /** Commits wait for the replica. */
      isWaiting: boolean;
      /** What the replica has on its disk, if it is connected and follows. */
      replica: { hasFlushed: bigint; lagBytes: bigint } | undefined;
    };

export interface Host {
  /** Without what is secret in its address. */
  name: string;
  look(): Promise<View>;
  run(statement: string, timeoutMs: number): Promise<unknown[]>;
  close(): Promise<void>;
}

const patienceMs = 1_000;

/** One host of the pair, over a connection that is kept. Needs a superuser. */
export function openHost(url: string): Host {
  const { hostname, port } = new URL(url);
  let client: pg.Client | undefined;

  async function connected(): Promise<pg.Client> {
    if (client) return client;
    const made = new pg.Client({
      connectionString: url,
      application_name: "pennyblack failover",
      connectionTimeoutMillis: patienceMs,
      keepAlive: true,
    });
    // Whoever asks next is told.
    made.on("error", drop);
    await made.connect();
    client = made;
    return made;
  }

  function drop(): void {
    client?.end().catch(() => undefined);
    client = undefined;
  }

  async function run(statement: string, timeoutMs: number): Promise<unknown[]> {
    try {
      const query = { text: statement, query_timeout: timeoutMs };
      return (await (await connected()).query<Record<string, unknown>>(query)).rows;
    } catch (error) {
      // It may still be at it; a connection of which that is not known is of no use.
      drop();
      throw error;
    }
  }

  return {
    name: `${hostname}:${port || "5432"}`,
    run,
    look: () =>
      run(lookStatement, patienceMs).then(
        ([row]) => toView(row as LookRow),
        (error: unknown) => ({ role: "down", why: error instanceof Error ? error.message : String(error) }),
      ),
    close: async () => drop(),
  };
}

interface LookRow {
  timeline: string | null;
  waiting: boolean;
  has_flushed: string | null;
  lag: string | null;
  receiving: boolean;
}

// LSNs as plain numbers of bytes. A replica has neither timeline nor replicas; a primary receives nothing.
const lookStatement = `
  with self as (
    select case when not pg_is_in_recovery() then pg_current_wal_flush_lsn() end as lsn
  )
  select
    case when not pg_is_in_recovery() then left(pg_walfile_name(lsn), 8) end as timeline,
    current_setting('synchronous_standby_names') = '${replicaName}'
      and current_setting('synchronous_commit') in ('on', 'remote_apply') as waiting,
    (r.flush_lsn - '0/0'::pg_lsn)::text as has_flushed,
    (lsn - r.flush_lsn)::text as lag,
    exists (select from pg_stat_wal_receiver where status = 'streaming') as receiving
  from self left join pg_stat_replication r on r.application_name = '${replicaName}' and r.state = 'streaming'
  order by r.flush_lsn desc nulls last limit 1`;

function toView(row: LookRow): View {
  if (row.timeline === null) return { role: "replica", isStreaming: row.receiving };
  return {
    role: "primary",
    timeline: Number.parseInt(row.timeline, 16),
    isWaiting: row.waiting,
    replica:
      row.has_flushed === null ? undefined : { hasFlushed: BigInt(row.has_flushed), lagBytes: BigInt(row.lag ?? 0) },
  };
}
