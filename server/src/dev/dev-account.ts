import { createAccount } from "../admin/create-account.ts";
import { readConfig } from "../config/config.ts";
import { makeSignInLink } from "../console/console.ts";
import { createPool, type Pool } from "../db/pool.ts";
import { createKey, createKeys, type KeyMode, type Pepper } from "../keys/keys.ts";
import type { Micros } from "../lib/money.ts";
import { Problem } from "../problems/problems.ts";
import { adapters } from "../providers/providers.ts";
import { readWallet, setTrialTerms, topUpBatch } from "../wallet/wallet.ts";
import type { KeptData, SavedKeys } from "./kept-data.ts";

export interface DevAccount extends SavedKeys {
  /** Single-use sign-in link to the console. */
  signInLink: string;
  balance: Micros;
}

/** Owner of the dev account. No mail is delivered to this address. */
export const devOwner = "you@pennyblack.test";

function fail(): never {
  throw new Error("the environment has no pepper");
}

/** The account of the last start, if its keys still work, or a new one. A key that was revoked or expired is replaced. */
export async function openDevAccount(
  ownerUrl: string,
  { settings, kept, balance }: { settings: Record<string, string>; kept: KeptData; balance: Micros },
): Promise<DevAccount> {
  const { keyPeppers, trialCredit, trialsPerDay, publicUrl } = readConfig(
    adapters,
    ["keyPeppers", "trialCredit", "publicUrl"],
    settings,
  );
  const pepper = keyPeppers[0] ?? fail();
  const pool = createPool({ url: ownerUrl, name: "pennyblack dev", connections: 1, onIdleError: () => {} });
  const act = { operator: "dev", reason: "development" };
  try {
    await setTrialTerms(pool, { amount: trialCredit, maxPerDay: trialsPerDay }, act);
    const keys = (await reuseKeys(pool, pepper, kept.keys)) ?? (await createKeysOfNewAccount());
    kept.saveKeys(keys);
    const wallet = await readWallet(pool, keys.walletId);
    const signInLink = await makeSignInLink(pool, { email: devOwner, publicUrl, ttlMinutes: 24 * 60, act });
    return { ...keys, signInLink: signInLink ?? "", balance: wallet?.balance ?? 0n };
  } finally {
    await pool.end();
  }

  async function createKeysOfNewAccount(): Promise<SavedKeys> {
    const account = await createAccount(pool, { name: "Development", balance: 0n, pepper, owner: devOwner }, act);
    const { walletId, liveKey, managementKey } = account;
    // Play money, without a limit.
    if (balance > 0n)
      await topUpBatch(pool, "credit", [{ paymentId: `opening-${walletId}`, walletId, amount: balance }]);
    const test = await createKey(pool, pepper, { walletId, mode: "test", name: "test" });
    return { walletId, liveKey, testKey: test.key, managementKey };
  }
}

async function reuseKeys(pool: Pool, pepper: Pepper, saved: SavedKeys | undefined): Promise<SavedKeys | undefined> {
  if (!saved) return undefined;
  const { walletId } = saved;
  const keys = createKeys(pool, [pepper]);
  const works = async (key: string): Promise<boolean> => {
    try {
      return (await keys.authenticate(key, "127.0.0.1", "any")).walletId === walletId;
    } catch (error) {
      if (error instanceof Problem) return false;
      throw error;
    }
  };
  const working: boolean[] = [];
  try {
    for (const key of [saved.liveKey, saved.testKey, saved.managementKey]) working.push(await works(key));
  } finally {
    keys.close();
  }
  if (!working.includes(true)) return undefined;
  const replace = async (index: number, key: string, mode: KeyMode): Promise<string> =>
    working[index] ? key : (await createKey(pool, pepper, { walletId, mode, name: mode })).key;
  return {
    walletId,
    liveKey: await replace(0, saved.liveKey, "live"),
    testKey: await replace(1, saved.testKey, "test"),
    managementKey: await replace(2, saved.managementKey, "mgmt"),
  };
}
