// Keys that were looked up are remembered as long as nobody changes them. Four times a second one question for all of
// them asks which ones changed; what was changed is forgotten. So a change is seen within a second, whatever the number
// of keys. Whether a cent is spent is not decided here: the hold looks at the key again, under the wallet's lock.
//
//   asked within the last second .......... what is remembered counts
//   not (the database is slow or away) .... only what was looked up within the last second counts
//   not for longer than changes are told .. everything is forgotten

export interface RememberedKey {
  keyId: string;
  /** It will be refused one day without anybody changing it, or already is: looked up again every second. */
  isPassing: boolean;
}

export interface KeyMemory<Key extends RememberedKey> {
  find: (name: string, lookUp: () => Promise<Key | undefined>) => Promise<Key | undefined>;
  close: () => void;
}

interface Entry<Key> {
  found: Promise<Key | undefined>;
  lookedUpAt: number;
  /** Known once the key was found and can be told when it changes. */
  keyId: string | undefined;
}

const askEveryMs = 250;
const trustMs = 1_000;
/** Less than the fifteen seconds for which the database tells a change. */
const toldForMs = 10_000;
const mostRemembered = 100_000;

/** `readChanged` gives the ids of the keys that changed of late. */
export function rememberKeys<Key extends RememberedKey>(readChanged: () => Promise<string[]>): KeyMemory<Key> {
  const entries = new Map<string, Entry<Key>>();
  const names = new Map<string, string>();
  let askedAt = performance.now() - trustMs;
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;

  async function ask(): Promise<void> {
    const startedAt = performance.now();
    const changed = await readChanged();
    const forgotten =
      startedAt - askedAt > toldForMs ? [...entries.keys()] : changed.flatMap((id) => names.get(id) ?? []);
    for (const name of forgotten) forget(name);
    askedAt = startedAt;
  }

  function askAgain(): void {
    if (isClosed) return;
    timer = setTimeout(() => {
      // Not knowing is no fault: what is remembered then counts for a second, as it says above.
      ask()
        .catch(() => undefined)
        .finally(askAgain)
        .catch(() => undefined);
    }, askEveryMs).unref();
  }

  function find(name: string, lookUp: () => Promise<Key | undefined>): Promise<Key | undefined> {
    const now = performance.now();
    const known = entries.get(name);
    const isTrusted = known?.keyId !== undefined && now - askedAt < trustMs;
    if (known && (isTrusted || now - known.lookedUpAt < trustMs)) return known.found;

    // The promise is kept, not its value, so that a thousand searches at once ask the database once.
    const entry: Entry<Key> = { found: lookUp(), lookedUpAt: now, keyId: undefined };
    forget(name);
    entries.set(name, entry);
    forgetOldest();
    entry.found.then(
      (key) => {
        if (!key || key.isPassing || entries.get(name) !== entry) return;
        entry.keyId = key.keyId;
        names.set(key.keyId, name);
      },
      () => {
        if (entries.get(name) === entry) forget(name);
      },
    );
    return entry.found;
  }

  function forget(name: string): void {
    const keyId = entries.get(name)?.keyId;
    if (keyId !== undefined) names.delete(keyId);
    entries.delete(name);
  }

  /** A flood of made-up keys must not fill the memory. */
  function forgetOldest(): void {
    const oldest = entries.keys().next();
    if (entries.size > mostRemembered && !oldest.done) forget(oldest.value);
  }

  askAgain();
  return {
    find,
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
