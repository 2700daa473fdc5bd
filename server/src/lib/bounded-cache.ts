export interface BoundedCache<Value> {
  get(key: string): Value | undefined;
  set(key: string, value: Value): void;
  /** The estimated size of all entries. */
  bytes(): number;
}

/** A cache for keys from outside, whose length and number nothing else bounds. It is emptied when it is full. */
export function createBoundedCache<Value>({
  maxBytes,
  bytesOf,
}: {
  maxBytes: number;
  bytesOf: (key: string, value: Value) => number;
}): BoundedCache<Value> {
  const entries = new Map<string, Value>();
  let total = 0;
  return {
    get: (key) => entries.get(key),
    set(key, value) {
      const added = bytesOf(key, value);
      const replaced = entries.get(key);
      if (replaced !== undefined) total -= bytesOf(key, replaced);
      entries.delete(key);
      if (added > maxBytes) return;
      if (total + added > maxBytes) {
        entries.clear();
        total = 0;
      }
      entries.set(key, value);
      total += added;
    },
    bytes: () => total,
  };
}
