import { callAsTenant } from "../db/as-tenant.ts";
import type { Pool, Queryable } from "../db/pool.ts";
import { resealColumn } from "../db/reseal-column.ts";
import { unavailable } from "../http/unavailable.ts";
import { type DataKey, installation, openDataKey, purposeOfDataKey, sealNewDataKey } from "../lib/data-key.ts";
import { CannotUnseal } from "../lib/seal.ts";
import type { Resealed, Secrets } from "../lib/secrets.ts";
import { Problem } from "../problems/problems.ts";

// The data keys of wallets. A key that no listed secret opens is never replaced here. The request fails before it could be
// charged, because under another key its retries would be charged again.

/** A caller whose API key was looked up brings the data key of its wallet, if there was one at that time. */
export interface DataKeyOwner {
  walletId: string;
  sealedDataKey?: Buffer | undefined;
}

export interface DataKeys {
  /** The wallet's data key, which is created on first need. Rejects with 503 if it cannot be read or opened. */
  open(owner: DataKeyOwner): Promise<DataKey>;
  /** The wallet's data key, or undefined if it has none. Rejects with 503 if it cannot be read or opened. */
  find(owner: DataKeyOwner): Promise<DataKey | undefined>;
}

export interface DataKeysOptions {
  tenant: Pool;
  secrets: Secrets;
  onUnopened: () => void;
}

export function createDataKeys({ tenant, secrets, onUnopened }: DataKeysOptions): DataKeys {
  // Cached as long as the API key whose look-up returns the encrypted one.
  const opened = new WeakMap<Buffer, DataKey>();

  function openSealed(walletId: string, sealed: Buffer): DataKey {
    const known = opened.get(sealed);
    if (known) return known;
    try {
      const dataKey = openDataKey(secrets, walletId, sealed);
      opened.set(sealed, dataKey);
      return dataKey;
    } catch (cause) {
      if (!(cause instanceof CannotUnseal)) throw cause;
      onUnopened();
      throw new Problem("ledger_unavailable", { cause });
    }
  }

  function read(walletId: string, newKey: Buffer | null): Promise<Buffer | null> {
    return callAsTenant<Buffer | null>(tenant, walletId, "pb.own_data_key($2)", [newKey]).catch(unavailable);
  }

  return {
    async open({ walletId, sealedDataKey }) {
      const sealed = sealedDataKey ?? (await read(walletId, sealNewDataKey(secrets, walletId)));
      // The account was deleted a moment ago, with its API keys.
      if (!sealed) throw new Problem("api_key_revoked");
      return openSealed(walletId, sealed);
    },
    async find({ walletId, sealedDataKey }) {
      const sealed = sealedDataKey ?? (await read(walletId, null));
      return sealed ? openSealed(walletId, sealed) : undefined;
    },
  };
}

/** Seals all data keys under the first secret. Values that were derived from them do not change. */
export function resealDataKeys(db: Queryable, secrets: Secrets): Promise<Resealed> {
  const column = { table: "pb.data_keys", idColumn: "wallet_id", column: "sealed", purposeOf: purposeOfDataKey };
  return resealColumn(db, secrets, column);
}

/**
 * Replaces the data keys of all wallets and deletes the claims that depend on them. The installation's key is replaced only if no
 * listed secret opens it, because addresses that had a trial could not be found under another one. Returns how many were replaced.
 */
export async function replaceDataKeys(owner: Pool, secrets: Secrets): Promise<number> {
  let replaced = 0;
  let after = "";
  for (;;) {
    const { rows } = await owner.query<{ id: string; sealed: Buffer }>(
      `select wallet_id as id, sealed from pb.data_keys
       where wallet_id > nullif($1, '')::uuid or $1 = '' order by wallet_id limit 100`,
      [after],
    );
    const ids = rows.filter((row) => row.id !== installation || !isOpened(secrets, row)).map(({ id }) => id);
    // A statement for each batch, so that no wallet stays locked.
    const newKeys = ids.map((id) => sealNewDataKey(secrets, id));
    await owner.query("select pb.replace_data_keys($1, $2)", [ids, newKeys]);
    replaced += ids.length;
    const last = rows.at(-1);
    if (!last) return replaced;
    after = last.id;
  }
}

function isOpened(secrets: Secrets, { id, sealed }: { id: string; sealed: Buffer }): boolean {
  try {
    openDataKey(secrets, id, sealed);
    return true;
  } catch {
    return false;
  }
}

/** How many data keys are sealed under each secret. */
export async function countDataKeys(db: Queryable): Promise<{ secretId: string; keys: number }[]> {
  const { rows } = await db.query<{ secretId: string; keys: number }>(
    `select secret_id as "secretId", count(*)::integer as keys from pb.data_keys group by secret_id order by secret_id`,
  );
  return rows;
}
