// Finds the owners that send a large share of a lane's items, by counting in windows of 250 ms.

const windowMs = 250;
/** Items of one window. Fewer items do not delay other owners, regardless of their share. */
const minItems = 10;
/** Of all items of the window. At most five owners can be hot. */
const minShare = 0.2;
/** An owner stays hot down to this part of both limits, so that it does not move back and forth. */
const stayFactor = 0.5;

export interface HotOwners {
  count(owner: string, now: number): void;
  /** The hot owners of the last complete window. */
  list(): readonly string[];
}

export function createHotOwners(): HotOwners {
  let hot: readonly string[] = [];
  let windowStart = 0;
  let total = 0;
  // A new map for each window: reusing one would be slow for the garbage collector, see decision 0009.
  let counts = new Map<string, number>();

  function findHot(): string[] {
    const found: string[] = [];
    for (const [owner, items] of counts) {
      const factor = hot.includes(owner) ? stayFactor : 1;
      if (items >= minItems * factor && items >= total * minShare * factor) found.push(owner);
    }
    return found;
  }

  return {
    count(owner, now) {
      const elapsedMs = now - windowStart;
      if (elapsedMs >= windowMs) {
        // After a pause of a whole window, no owner is hot.
        hot = elapsedMs < 2 * windowMs ? findHot() : [];
        windowStart = now;
        total = 0;
        counts = new Map();
      }
      total += 1;
      counts.set(owner, (counts.get(owner) ?? 0) + 1);
    },
    list: () => hot,
  };
}
