import { Redis } from "ioredis";
import type { Config } from "./config.ts";
import { findMigrationFault } from "./db/migrate.ts";
import { createPool, type Pool } from "./db/pool.ts";
import { refuseRole } from "./db/roles.ts";
import type { Log } from "./telemetry/log.ts";
import { ledgerConnections } from "./wallet/wallet.ts";

/** The databases of a server: one pool for each role it may take, and the limits' Redis. */
export interface Connections {
  ledgerPool: Pool;
  tenantPool: Pool;
  /** None where the operator has not given its address. */
  operatorPool: Pool | undefined;
  /** None where there is no console. */
  peoplePool: Pool | undefined;
  redis: Redis | undefined;
  /** Why the database may not be served from, or nothing if it may. */
  check(when: "starting" | "running"): Promise<string | undefined>;
  close(): Promise<void>;
}

type Addresses = Pick<
  Config,
  "ledgerDatabaseUrl" | "tenantDatabaseUrl" | "operatorDatabaseUrl" | "peopleDatabaseUrl" | "redisUrl"
>;

export function openConnections(config: Addresses, log: Log): Connections {
  const onIdleError = (err: Error): void => log.warn({ err }, "an idle database connection failed");
  const ledgerPool = createPool({
    url: config.ledgerDatabaseUrl,
    name: "pennyblack ledger",
    // Three more than the ledger's lanes, for key look-ups, health and what is tallied.
    connections: ledgerConnections + 3,
    isForSingleStatements: true,
    onIdleError,
  });
  const tenantPool = createPool({
    url: config.tenantDatabaseUrl,
    name: "pennyblack tenant",
    connections: 4,
    onIdleError,
  });
  const openOptional = (url: string | undefined, name: string, connections: number): Pool | undefined =>
    url === undefined ? undefined : createPool({ url, name, connections, onIdleError });
  const operatorPool = openOptional(config.operatorDatabaseUrl, "pennyblack operator", 2);
  const peoplePool = openOptional(config.peopleDatabaseUrl, "pennyblack people", 4);
  const pools = [ledgerPool, tenantPool, operatorPool, peoplePool].filter((pool) => pool !== undefined);
  const redis = config.redisUrl ? connectRedis(config.redisUrl, log) : undefined;

  return {
    ledgerPool,
    tenantPool,
    operatorPool,
    peoplePool,
    redis,
    async check(when) {
      const fault = await findMigrationFault(ledgerPool, when);
      if (fault) return fault;
      for (const pool of pools) {
        const refusal = await refuseRole(pool).catch(() => "it cannot connect");
        if (refusal) return `The server must not connect as this role: ${refusal}.`;
      }
      return undefined;
    },
    async close() {
      await Promise.all(pools.map((pool) => pool.end()));
      redis?.disconnect();
    },
  };
}

/** Losing Redis costs precision, never a search: short timeouts, nothing queued, the limits have a local fallback. */
function connectRedis(url: string, log: Log): Redis {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    enableAutoPipelining: true,
    commandTimeout: 25,
    connectTimeout: 1_000,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(attempt * 100, 2_000),
  });
  let isAway = false;
  redis.on("error", (err: Error) => {
    if (!isAway) log.warn({ err }, "Redis is away; limits are counted by this server alone");
    isAway = true;
  });
  redis.on("ready", () => {
    isAway = false;
  });
  return redis;
}
