import type { Queryable } from "../db/pool.ts";

const everyMs = 30_000;
const mostAtOnce = 1_000;

export interface KeyUses {
  /** Costs one entry of a set: it runs for every request. */
  note: (keyId: string) => void;
  /** Writes what is not yet written, once. */
  close(): Promise<void>;
}

/**
 * When a key was last used, about: each server remembers which keys were, and writes them down in one statement every
 * half a minute. A note that cannot be written is forgotten; the next use makes another.
 */
export function noteKeyUses(db: Queryable): KeyUses {
  let used = new Set<string>();

  async function write(): Promise<void> {
    const ids = [...used];
    used = new Set();
    for (let first = 0; first < ids.length; first += mostAtOnce) {
      await db.query("select pb.note_key_uses($1)", [ids.slice(first, first + mostAtOnce)]);
    }
  }

  const timer = setInterval(() => {
    write().catch(() => undefined);
  }, everyMs).unref();
  return {
    note: (keyId) => void used.add(keyId),
    async close() {
      clearInterval(timer);
      await write().catch(() => undefined);
    },
  };
}
