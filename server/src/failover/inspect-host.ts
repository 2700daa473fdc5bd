import pg from "pg";

/** application_name of the replica's connection, used in synchronous_standby_names. */
export const replicaName = "pennyblack_replica";

export type View =
  | { role: "down"; why: string }
  | { role: "replica"; isStreaming: boolean }
  | {
      role: "primary";
      timeline: number;
      /** Whether commits wait for the replica. */
      isSynchronous: boolean;
      /** Undefined unless a replica is streaming. */
      replica: { flushedLsn: bigint; lagBytes: bigint } | undefined;
    };

export interface Host {
  /** Host and port, without credentials. */
  name: string;
  inspect(): Promise<View>;
  run(statement: string, timeoutMs: number): Promise<unknown[]>;
  close(): Promise<void>;
}

const timeoutMs = 1_000;

/** One host of the pair, over a persistent connection. Needs a superuser. */
export function openHost(url: string): Host {
  const { hostname, port } = new URL(url);
  let client: pg.Client | undefined;

  async function connected(): Promise<pg.Client> {
    if (client) return client;
    const made = new pg.Client({
      connectionString: url,
      application_name: "pennyblack failover",
      connectionTimeoutMillis: timeoutMs,
      keepAlive: true,
    });
    // The next call reconnects and reports the error.
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
      // The statement may still be running, so the connection cannot be reused.
      drop();
      throw error;
    }
  }

  return {
    name: `${hostname}:${port || "5432"}`,
    run,
    inspect: () =>
      run(inspectStatement, timeoutMs).then(
        ([row]) => toView(row as InspectRow),
        (error: unknown) => ({ role: "down", why: error instanceof Error ? error.message : String(error) }),
      ),
    close: async () => drop(),
  };
}

interface InspectRow {
  timeline: string | null;
  waiting: boolean;
  has_flushed: string | null;
  lag: string | null;
  receiving: boolean;
}

// LSNs as byte counts. A replica has no timeline and no replicas; a primary has no WAL receiver.
const inspectStatement = `
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

function toView(row: InspectRow): View {
  if (row.timeline === null) return { role: "replica", isStreaming: row.receiving };
  return {
    role: "primary",
    timeline: Number.parseInt(row.timeline, 16),
    isSynchronous: row.waiting,
    replica:
      row.has_flushed === null ? undefined : { flushedLsn: BigInt(row.has_flushed), lagBytes: BigInt(row.lag ?? 0) },
  };
}
