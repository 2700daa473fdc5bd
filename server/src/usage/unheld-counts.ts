import { timeOfId } from "../lib/time-of-id.ts";
import type { UnheldRequest } from "./unheld-requests.ts";

/** The refusals or replays of one key with the same outcome. */
export interface UnheldRow {
  wallet_id: string;
  key_id: string;
  mode: string;
  hour: string;
  outcome: string;
  searches: number;
}

/** Counters of refusals and replays per key, hour and outcome. */
export interface UnheldCounts {
  /** Returns false if the request was not counted, because there are `maxRows` rows. */
  add: (request: Omit<UnheldRequest, "transport">) => boolean;
  take: () => {
    rows: UnheldRow[];
    /** Hours in which requests were not counted, or lost. */
    incompleteHours: string[];
  };
  recordLost: (rows: readonly UnheldRow[]) => void;
}

const hourMs = 3_600_000;

export function createUnheldCounts(maxRows: number): UnheldCounts {
  const counts = new Map<string, UnheldRow>();
  const incompleteHours = new Set<string>();
  return {
    add({ id, walletId, keyId, mode, outcome }) {
      const at = timeOfId(id);
      const hour = new Date(at - (at % hourMs)).toISOString();
      const name = `${keyId} ${hour} ${outcome}`;
      const known = counts.get(name);
      if (known) known.searches += 1;
      else if (counts.size < maxRows)
        counts.set(name, { wallet_id: walletId, key_id: keyId, mode, hour, outcome, searches: 1 });
      else incompleteHours.add(hour);
      return counts.has(name);
    },
    take() {
      const taken = { rows: [...counts.values()], incompleteHours: [...incompleteHours] };
      counts.clear();
      incompleteHours.clear();
      return taken;
    },
    recordLost(rows) {
      for (const { hour } of rows) incompleteHours.add(hour);
    },
  };
}
