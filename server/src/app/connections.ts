import { Redis } from "ioredis";
import type { Config } from "../config/config.ts";
import type { Constants } from "../config/constants.ts";
import { serverConnections } from "../db/connection-counts.ts";
import { createFence, type Fence } from "../db/fence.ts";
import { describeDatabaseFailure, findSchemaFault } from "../db/find-schema-fault.ts";
import { createPool, type Pool, waitForConnection } from "../db/pool.ts";
import { findLimitFault, findRoleFault } from "../db/roles.ts";
import { type ServiceWatch, watchService } from "../lib/watch-service.ts";
import type { Log } from "../telemetry/log.ts";

/** The database connections of a server: one pool per database role, and Redis for the request limits. */
export interface Connections {
  ledgerPool: Pool;
  tenantPool: Pool;
  /** Undefined if payments are not configured. */
  paymentsPool: Pool | undefined;
  /** Undefined if its URL is not configured. */
  operatorPool: Pool | undefined;
  /** Undefined if the console is disabled. */
  peoplePool: Pool | undefined;
  /** All of the above by name. */
  pools: Readonly<Record<keyof typeof serverConnections, Pool | undefined>>;
  redis: Redis | undefined;
  /** Shared by all pools. */
  fence: Fence;
  /** Returns the reason this server must not use the database, or undefined. On a running server, rejects if the database is unavailable. */
  check(when: "starting" | "running"): Promise<string | undefined>;
  close(): Promise<void>;
}

type Addresses = Pick<
  Config,
  | "ledgerDatabaseUrl"
  | "tenantDatabaseUrl"
  | "paymentsDatabaseUrl"
  | "operatorDatabaseUrl"
  | "peopleDatabaseUrl"
  | "databasePooler"
  | "redisUrl"
> &
  Pick<Constants, "databaseRequestMs" | "redisTimeoutMs">;

export function openConnections(config: Addresses, log: Log): Connections {
  const onIdleError = (err: Error): void => log.warn({ err }, "idle database connection failed");
  const fence = createFence();
  const { databasePooler: pooler, databaseRequestMs } = config;
  const timeouts = { connectTimeoutMs: databaseRequestMs, statementTimeoutMs: databaseRequestMs };
  const ledgerPool = createPool({
    fence,
    pooler,
    url: config.ledgerDatabaseUrl,
    name: "pennyblack ledger",
    connections: serverConnections.ledger,
    isForSingleStatements: true,
    onIdleError,
  });
  const tenantPool = createPool({
    fence,
    pooler,
    url: config.tenantDatabaseUrl,
    name: "pennyblack tenant",
    connections: serverConnections.tenant,
    ...timeouts,
    onIdleError,
  });
  const openOptional = (url: string | undefined, name: string, connections: number): Pool | undefined =>
    url === undefined ? undefined : createPool({ fence, pooler, url, name, connections, ...timeouts, onIdleError });
  const paymentsPool = openOptional(config.paymentsDatabaseUrl, "pennyblack payments", serverConnections.payments);
  const operatorPool = openOptional(config.operatorDatabaseUrl, "pennyblack operator", serverConnections.operator);
  const peoplePool = openOptional(config.peopleDatabaseUrl, "pennyblack people", serverConnections.people);
  const logins = {
    DATABASE_URL: ledgerPool,
    PENNYBLACK_TENANT_DATABASE_URL: tenantPool,
    PENNYBLACK_PAYMENTS_DATABASE_URL: paymentsPool,
    PENNYBLACK_OPERATOR_DATABASE_URL: operatorPool,
    PENNYBLACK_PEOPLE_DATABASE_URL: peoplePool,
  };
  const redis = config.redisUrl ? connectRedis(config.redisUrl, config.redisTimeoutMs, log) : undefined;

  return {
    ledgerPool,
    tenantPool,
    paymentsPool,
    operatorPool,
    peoplePool,
    pools: {
      ledger: ledgerPool,
      tenant: tenantPool,
      payments: paymentsPool,
      operator: operatorPool,
      people: peoplePool,
    },
    redis,
    fence,
    async check(when) {
      if (when === "starting") await waitForConnection(ledgerPool);
      const fault = await findSchemaFault(ledgerPool, when);
      // The other pools are not needed for searches, and roles do not change while a server runs.
      if (fault || when === "running") return fault;
      for (const [variable, pool] of Object.entries(logins)) {
        const loginFault = pool && (await findLoginFault(variable, pool, pooler));
        if (loginFault) return loginFault;
      }
      return undefined;
    },
    async close() {
      await Promise.all(Object.values(logins).map(async (pool) => pool?.end()));
      redis?.disconnect();
    },
  };
}

async function findLoginFault(
  variable: string,
  pool: Pool,
  pooler: Config["databasePooler"],
): Promise<string | undefined> {
  try {
    await waitForConnection(pool);
    const roleFault = await findRoleFault(pool);
    if (roleFault) return `${variable} must not connect as this role: ${roleFault}.`;
    const limitFault = pooler === "transaction" && (await findLimitFault(pool));
    return limitFault ? `${variable} needs a limit for its statements: ${limitFault}.` : undefined;
  } catch (error) {
    return describeDatabaseFailure(variable, error);
  }
}

/** Without Redis, limits are less precise but no search fails: short timeouts, no offline queue, and a local fallback. */
function connectRedis(url: string, commandTimeout: number, log: Log): Redis {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    enableAutoPipelining: true,
    commandTimeout,
    connectTimeout: 1_000,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(attempt * 100, 2_000),
  });
  let isUnavailable = false;
  redis.on("error", (err: Error) => {
    if (!isUnavailable) log.warn({ err }, "redis unavailable, using per-process limits");
    isUnavailable = true;
  });
  redis.on("ready", () => {
    isUnavailable = false;
  });
  return redis;
}

/** Undefined if Redis is not configured. */
export function watchRedis(redis: Connections["redis"], intervalMs = 5_000): ServiceWatch | undefined {
  return redis && watchService(() => redis.ping(), intervalMs);
}
