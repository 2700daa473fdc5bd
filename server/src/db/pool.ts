import pg from "pg";
import { spreadHosts } from "../lib/spread-hosts.ts";
import { clientOfPrimary } from "./find-primary.ts";

export type Pool = pg.Pool;

/** Whatever runs one statement: a pool or a connection inside a transaction. */
export type Queryable = Pick<pg.Pool, "query">;

export interface PoolOptions {
  /** May name several hosts, of which one is the primary. */
  url: string;
  /** Shown in pg_stat_activity. */
  name: string;
  connections: number;
  statementTimeoutMs?: number;
  /** For a library that wants its figures as the driver gives them. */
  hasPlainTypes?: boolean;
  /** Nobody takes a connection for several statements; then each can be waited for in a cheaper way: see decision 0009. */
  isForSingleStatements?: boolean;
  /** A pool's idle connections fail too, for instance when the database restarts; the pool replaces them. */
  onIdleError: (error: Error) => void;
}

/**
 * Every wait has an end. The server's own clock ends a statement a little after the database should have, so
 * that a database that went silent is noticed; what it then did is unknown, and callers treat it so.
 */
export function createPool(options: PoolOptions): Pool {
  const statementTimeoutMs = options.statementTimeoutMs ?? 5_000;
  const silenceMs = statementTimeoutMs + 1_000;
  const pool = new pg.Pool({
    ...addressOf(options.url),
    application_name: options.name,
    max: options.connections,
    connectionTimeoutMillis: 2_000,
    idleTimeoutMillis: 60_000,
    statement_timeout: statementTimeoutMs,
    lock_timeout: Math.min(2_000, statementTimeoutMs),
    idle_in_transaction_session_timeout: 5_000,
    ...(options.isForSingleStatements ? {} : { query_timeout: silenceMs }),
    keepAlive: true,
    ...(options.hasPlainTypes ? {} : { types: { getTypeParser } }),
  });
  pool.on("error", options.onIdleError);
  // While someone holds a connection the pool does not listen to it, and an error nobody listens to ends the process.
  // Whoever holds it learns of it anyway: its statement fails.
  pool.on("connect", (client) => client.on("error", () => undefined));
  if (options.isForSingleStatements) pool.query = queryWithin(pool, silenceMs) as typeof pool.query;
  return pool;
}

function addressOf(url: string): pg.PoolConfig {
  return spreadHosts(url).length === 1 ? { connectionString: url } : { Client: clientOfPrimary(url) };
}

type TimedStatement = pg.QueryConfig & { query_timeout?: number };

/** Gives a statement a shorter wait than its pool's. The driver takes the setting; its types do not know it. */
export function within(timeoutMs: number, statement: pg.QueryConfig): TimedStatement {
  return { ...statement, query_timeout: timeoutMs };
}

/** As the pool's own: one statement on any connection, which is given up if anything went wrong. */
function queryWithin(pool: Pool, usualMs: number) {
  return (statement: string | TimedStatement, values?: unknown[]): Promise<pg.QueryResult> => {
    const timed: TimedStatement =
      typeof statement === "string" ? { text: statement, ...(values && { values }) } : statement;
    const { query_timeout: waitMs = usualMs, ...config } = timed;
    return new Promise((resolve, reject) => {
      pool.connect((refusal, client, release) => {
        if (!client) return reject(refusal ?? new Error("there is no connection"));
        let isOver = false;
        const end = (failure: Error | undefined, result?: pg.QueryResult): void => {
          if (isOver) return;
          isOver = true;
          clearTimeout(timer);
          release(failure);
          if (result) resolve(result);
          else reject(failure ?? new Error("neither an answer nor a failure"));
        };
        const timer = setTimeout(() => end(new Error("the database has gone silent")), waitMs);
        client.query(config, (failure: Error | null, result) =>
          end(failure ?? undefined, failure ? undefined : result),
        );
      });
    });
  };
}

const bigintOid = 20;

/** Amounts arrive as bigint; the driver's own choice for int8 is a string. */
function getTypeParser(oid: number, format?: "text" | "binary"): ReturnType<typeof pg.types.getTypeParser> {
  return oid === bigintOid ? BigInt : pg.types.getTypeParser(oid, format);
}
