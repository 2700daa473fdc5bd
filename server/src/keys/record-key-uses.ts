import type { Queryable } from "../db/pool.ts";

const intervalMs = 30_000;
const maxPerStatement = 1_000;

export interface KeyUses {
  /** Runs for every request, and only adds to a set. */
  record: (keyId: string) => void;
  /** Writes the remaining uses. */
  close(): Promise<void>;
}

/**
 * Maintains `last_used_at`: each server collects the keys used and writes them every 30 seconds. A failed write is dropped,
 * because the next use of the key writes again.
 */
export function createKeyUseRecorder(db: Queryable): KeyUses {
  let used = new Set<string>();

  async function write(): Promise<void> {
    const ids = [...used];
    used = new Set();
    for (let first = 0; first < ids.length; first += maxPerStatement) {
      await db.query("select pb.record_key_uses($1)", [ids.slice(first, first + maxPerStatement)]);
    }
  }

  const timer = setInterval(() => {
    write().catch(() => undefined);
  }, intervalMs).unref();
  return {
    record: (keyId) => void used.add(keyId),
    async close() {
      clearInterval(timer);
      await write().catch(() => undefined);
    },
  };
}
