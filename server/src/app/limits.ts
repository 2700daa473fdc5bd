import type { ServerConfig } from "../config/config.ts";
import { databaseNameOf } from "../db/share-timeline.ts";
import { createKeys, type Keys } from "../keys/keys.ts";
import { networkOf } from "../lib/network-of.ts";
import { type Admission, defaultAdmission, startAdmission } from "../limits/admission.ts";
import { type CostCaps, createCostCaps } from "../limits/cost-caps.ts";
import { createKeyGuessLimiter } from "../limits/key-guessing.ts";
import { createRequestLimits } from "../limits/request-limits.ts";
import { createUnpaidLimit } from "../limits/unpaid-limit.ts";
import type { Log } from "../telemetry/log.ts";
import { readUpstreamCosts } from "../usage/usage.ts";
import type { Connections } from "./connections.ts";

/** Slots of this server, limits of keys and wallets across servers, and the limit of unpaid upstream calls. */
export function openLimits(
  { maxInFlight: max, walletShare, lookUpWaitMs: maxWaitMs, overloadedAfterMs, servers }: ServerConfig,
  redis: Connections["redis"],
) {
  return {
    admission: startAdmission({ ...defaultAdmission, max, walletShare, maxWaitMs, overloadedAfterMs }),
    acquireSlot: createRequestLimits({ redis, servers }),
    unpaidLimit: createUnpaidLimit({ redis, servers }),
  };
}

/** The operator's limits of what providers may cost. */
export function openCostCaps(
  { ledgerDatabaseUrl }: Pick<ServerConfig, "ledgerDatabaseUrl">,
  { connections, log }: { connections: Pick<Connections, "ledgerPool" | "redis">; log: Pick<Log, "warn" | "error"> },
): CostCaps {
  return createCostCaps({
    redis: connections.redis,
    database: databaseNameOf(ledgerDatabaseUrl),
    readCosts: () => readUpstreamCosts(connections.ledgerPool),
    onLevel(level, spending) {
      if (level === "reached") log.error(spending, "upstream cost cap reached, upstream not called");
      else log.warn(spending, "upstream cost near its cap");
    },
  });
}

interface KeyAppDependencies {
  connections: Pick<Connections, "ledgerPool" | "redis">;
  admission: Pick<Admission, "enterOrWait">;
  onUse: (keyId: string) => void;
}

export function openKeys(config: ServerConfig, { connections, admission, onUse }: KeyAppDependencies): Keys {
  const { servers, keyPeppers, databaseOutageMs: outageMs } = config;
  const { ledgerPool, redis } = connections;
  return createKeys(ledgerPool, keyPeppers, {
    guessLimiter: createKeyGuessLimiter({ redis, servers }),
    onUse,
    outageMs,
    enterLookUp: (address) => admission.enterOrWait("lookUps", networkOf(address)),
  });
}
