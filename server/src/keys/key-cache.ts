// Caches key look-ups. Every 250 ms one query fetches the ids of all keys changed recently and evicts them, so a change
// takes effect within a second at constant cost. The cache never authorizes spending: `pb.hold` re-checks the key under the
// wallet lock.
//
//   last poll succeeded within 1 s ......... cached keys are valid
//   otherwise (database slow or down) ...... a cached key is valid for 1 s after its look-up
//   no poll for longer than the retention .. the next successful poll clears the cache, because changes may be missing

export interface CachedKey {
  keyId: string;
  /** The key expires or has expired, which is not reported as a change. It is looked up again every second. */
  hasExpiry: boolean;
}

export interface KeyCache<Key extends CachedKey> {
  find: (name: string, lookUp: () => Promise<Key | undefined>) => Promise<Key | undefined>;
  close: () => void;
}

interface Entry<Key> {
  found: Promise<Key | undefined>;
  lookedUpAt: number;
  /** Set once the key was found, if its changes are reported by polls. */
  keyId: string | undefined;
}

const pollIntervalMs = 250;
const validForMs = 1_000;
/** Less than the 15 seconds for which the database reports a change. */
const changeRetentionMs = 10_000;
const maxEntries = 100_000;

/** `readChanged` returns the ids of recently changed keys. */
export function createKeyCache<Key extends CachedKey>(readChanged: () => Promise<string[]>): KeyCache<Key> {
  const entries = new Map<string, Entry<Key>>();
  const namesById = new Map<string, string>();
  let polledAt = performance.now() - validForMs;
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;

  async function poll(): Promise<void> {
    const startedAt = performance.now();
    const changed = await readChanged();
    const isIncomplete = startedAt - polledAt > changeRetentionMs;
    for (const name of isIncomplete ? [...entries.keys()] : changed.flatMap((id) => namesById.get(id) ?? []))
      evict(name);
    polledAt = startedAt;
  }

  function schedulePoll(): void {
    if (isClosed) return;
    timer = setTimeout(() => {
      // A failed poll is not an error: cached keys are then valid for a second.
      poll()
        .catch(() => undefined)
        .finally(schedulePoll)
        .catch(() => undefined);
    }, pollIntervalMs).unref();
  }

  function find(name: string, lookUp: () => Promise<Key | undefined>): Promise<Key | undefined> {
    const now = performance.now();
    const cached = entries.get(name);
    const isUnchanged = cached?.keyId !== undefined && now - polledAt < validForMs;
    if (cached && (isUnchanged || now - cached.lookedUpAt < validForMs)) return cached.found;

    // Caching the promise instead of its value makes concurrent searches share one look-up.
    const entry: Entry<Key> = { found: lookUp(), lookedUpAt: now, keyId: undefined };
    evict(name);
    entries.set(name, entry);
    evictOldest();
    entry.found.then(
      (key) => {
        if (!key || key.hasExpiry || entries.get(name) !== entry) return;
        entry.keyId = key.keyId;
        namesById.set(key.keyId, name);
      },
      () => {
        if (entries.get(name) === entry) evict(name);
      },
    );
    return entry.found;
  }

  function evict(name: string): void {
    const keyId = entries.get(name)?.keyId;
    if (keyId !== undefined) namesById.delete(keyId);
    entries.delete(name);
  }

  /** Bounds the memory under a flood of invalid keys. */
  function evictOldest(): void {
    const oldest = entries.keys().next();
    if (entries.size > maxEntries && !oldest.done) evict(oldest.value);
  }

  schedulePoll();
  return {
    find,
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
