import type { ServerConfig } from "../config/config.ts";
import { createKeys, type Keys } from "../keys/keys.ts";
import { networkOf } from "../lib/network-of.ts";
import { type Admission, defaultAdmission, startAdmission } from "../limits/admission.ts";
import { createKeyGuessLimiter } from "../limits/key-guessing.ts";
import { createRequestLimits } from "../limits/request-limits.ts";
import { createUnpaidLimit } from "../limits/unpaid-limit.ts";
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
