import pg from "pg";
import { isConnectTimeout } from "./connection-errors.ts";
import { createFence, type Fence } from "./fence.ts";
import { clientOfPrimary } from "./find-primary.ts";

export type Pool = pg.Pool;

/** Runs statements: a pool, or a connection inside a transaction. */
export type Queryable = Pick<pg.Pool, "query">;

/**
 * "transaction": each transaction can run on another session, as in PgBouncer's transaction mode. Sessions then have the
 * limits of their role (roles.ts), because a pooler refuses or drops those sent when connecting.
 */
export type Pooler = "none" | "transaction";

export interface PoolOptions {
  /** Can list several hosts, one of which is the primary. */
  url: string;
  /** Shown in pg_stat_activity. */
  name: string;
  /** Switches each session to this role, which the login must be a member of. */
  role?: string;
  /** Transactions cannot write. */
  isReadOnly?: boolean;
  connections: number;
  /** How long a checkout waits for a connection. */
  connectTimeoutMs?: number;
  statementTimeoutMs?: number;
  /** At most a second by default. */
  lockTimeoutMs?: number;
  /** Shared by the pools of a process. Without one, the pool has its own. */
  fence?: Fence;
  /** The pooler in front of the database. Default: none. */
  pooler?: Pooler;
  /** For a library that expects the driver's own type parsers. */
  usesDriverTypes?: boolean;
  /** Connections are never checked out for several statements, which allows a cheaper timeout: see decision 0009. */
  isForSingleStatements?: boolean;
  /** Called when an idle connection fails, for example because the database restarts. The pool replaces it. */
  onIdleError: (error: Error) => void;
}

/**
 * Every wait has a timeout. The client-side timeout is slightly longer than the statement timeout, and detects a database
 * that does not respond. The outcome of such a statement is unknown, and callers treat it so.
 */
export function createPool(options: PoolOptions): Pool {
  if (options.pooler === "transaction" && options.role !== undefined)
    throw new Error("a role cannot be switched to behind a transaction pooler");
  const statementTimeoutMs = options.statementTimeoutMs ?? 5_000;
  const clientTimeoutMs = statementTimeoutMs + 1_000;
  const fence = options.fence ?? createFence();
  const pool = new pg.Pool({
    Client: clientOfPrimary(options.url, fence),
    application_name: options.name,
    max: options.connections,
    // A lane soon resends a batch. Other requests are not resent, so they may wait longer.
    connectionTimeoutMillis: options.connectTimeoutMs ?? (options.isForSingleStatements ? 2_000 : 5_000),
    idleTimeoutMillis: 60_000,
    ...(options.pooler === "transaction" ? {} : sessionSettings(options, statementTimeoutMs)),
    ...(options.isForSingleStatements ? {} : { query_timeout: clientTimeoutMs }),
    keepAlive: true,
    ...(options.usesDriverTypes ? {} : { types: { getTypeParser } }),
  });
  fences.set(pool, fence);
  pool.on("error", options.onIdleError);
  // The pool does not listen to a connection that is checked out, and an "error" event without a listener would end the
  // process. The statement on the connection fails as well, so the event can be ignored.
  pool.on("connect", (client) => client.on("error", () => undefined));
  if (options.isForSingleStatements)
    pool.query = queryWithTimeout(pool, clientTimeoutMs, options.pooler) as typeof pool.query;
  return pool;
}

function sessionSettings({ role, isReadOnly, lockTimeoutMs }: PoolOptions, statementTimeoutMs: number): pg.PoolConfig {
  const options = [role && `-c role=${role}`, isReadOnly && "-c default_transaction_read_only=on"].filter(Boolean);
  return {
    // Set when the session starts, so RESET ROLE does not end it.
    ...(options.length > 0 && { options: options.join(" ") }),
    statement_timeout: statementTimeoutMs,
    // Shorter than the client-side timeouts, so that a lock wait ends with an error that proves the rollback.
    lock_timeout: lockTimeoutMs ?? Math.min(1_000, statementTimeoutMs),
    idle_in_transaction_session_timeout: 5_000,
  };
}

/**
 * Opens the first connection of a process that starts. A busy database can take longer for it than a search may wait for one, so
 * attempts that time out are repeated.
 */
export async function waitForConnection(pool: Pool, timeoutMs = 15_000): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    try {
      (await pool.connect()).release();
      return;
    } catch (error) {
      if (!isConnectTimeout(error) || performance.now() > deadline) throw error;
    }
  }
}

const fences = new WeakMap<Queryable, Fence>();

/** Undefined for a connection inside a transaction. */
export function fenceOf(pool: Queryable): Fence | undefined {
  return fences.get(pool);
}

type TimedStatement = pg.QueryConfig & { query_timeout?: number };

/** Sets a timeout other than the pool's. The driver supports the option, but its types omit it. */
export function withTimeout(timeoutMs: number, statement: pg.QueryConfig): TimedStatement {
  return { ...statement, query_timeout: timeoutMs };
}

/** Replaces pool.query: runs one statement on any connection, and closes the connection if the statement fails. */
function queryWithTimeout(pool: Pool, defaultMs: number, pooler: Pooler = "none") {
  return (statement: string | TimedStatement, values?: unknown[]): Promise<pg.QueryResult> => {
    const timed: TimedStatement =
      typeof statement === "string" ? { text: statement, ...(values && { values }) } : statement;
    const { query_timeout: timeoutMs = defaultMs, ...config } = timed;
    // A prepared statement belongs to a session, and the next statement can run on another one. See decision 0017.
    if (pooler === "transaction") delete config.name;
    return new Promise((resolve, reject) => {
      pool.connect((connectError, client, release) => {
        if (!client) return reject(connectError ?? new Error("no connection"));
        let isSettled = false;
        const settle = (failure: Error | undefined, result?: pg.QueryResult): void => {
          if (isSettled) return;
          isSettled = true;
          clearTimeout(timer);
          release(failure);
          if (result) resolve(result);
          else reject(failure ?? new Error("neither a result nor an error"));
        };
        const timer = setTimeout(() => settle(new Error("the database did not respond")), timeoutMs);
        client.query(config, (failure: Error | null, result) =>
          settle(failure ?? undefined, failure ? undefined : result),
        );
      });
    });
  };
}

const bigintOid = 20;

/** Returns int8 as bigint; the driver's default is a string. */
function getTypeParser(oid: number, format?: "text" | "binary"): ReturnType<typeof pg.types.getTypeParser> {
  return oid === bigintOid ? BigInt : pg.types.getTypeParser(oid, format);
}
