import { setTimeout as wait } from "node:timers/promises";
import type { ChaosCluster } from "./chaos-cluster.ts";
import { type FaultContext, lanes, nobodyThere, skippedKinds } from "./faults.ts";
import { createRandom } from "./random.ts";

export interface FaultRecord {
  kind: string;
  beganAt: number;
  endedAt: number;
  detail: string;
}

export interface Drawing {
  records: FaultRecord[];
  /** How often each kind ran, and whatever else was counted. */
  kinds: Map<string, number>;
  extras: Map<string, number>;
  skipped: Record<string, string>;
  /** What a fault found wrong by itself: the world did not come back. */
  failures: string[];
  running(): string[];
  /** Every kind that can run here has. */
  hasSeenAll(): boolean;
  /** Ends when every fault has been undone. */
  stop(): Promise<void>;
}

export interface DrawOptions {
  fixture: ChaosCluster;
  seed: number;
  only: readonly string[];
  holdLifeMs: number;
  /** Rests are so many times as long as usual. */
  calm: number;
}

/** How long a lane rests between two faults, at least and at most. */
const restsMs: Record<string, [number, number]> = {
  killers: [1_000, 3_000],
  servers: [1_000, 4_000],
  sleepers: [1_000, 4_000],
  wires: [100, 600],
  around: [300, 1_500],
  database: [3_000, 10_000],
};

export function drawFaults({ fixture, seed, only, holdLifeMs, calm }: DrawOptions): Drawing {
  const stopped = new AbortController();
  const skipped = skippedKinds(fixture);
  const records: FaultRecord[] = [];
  const kinds = new Map<string, number>();
  const extras = new Map<string, number>();
  const failures: string[] = [];
  const running = new Set<string>();
  const addTo = (map: Map<string, number>, name: string): void => void map.set(name, (map.get(name) ?? 0) + 1);

  function isWanted(kind: string): boolean {
    return skipped[kind] === undefined && (only.length === 0 || only.includes(kind));
  }

  async function runLane(lane: string): Promise<void> {
    const random = createRandom(seed, lane);
    const context: FaultContext = {
      fixture,
      random,
      holdLifeMs,
      signal: stopped.signal,
      count: (what) => addTo(extras, what),
    };
    const faults = Object.entries(lanes[lane] ?? {}).filter(([kind]) => isWanted(kind));
    // Each kind once before any comes again, so that a short run has seen them all.
    while (faults.length > 0 && !stopped.signal.aborted) {
      for (const [kind, run] of random.shuffle(faults)) {
        const [least, most] = restsMs[lane] ?? [1_000, 1_000];
        await wait(calm * random.integer(least, most), undefined, { signal: stopped.signal }).catch(() => undefined);
        if (stopped.signal.aborted) return;
        await runOne(kind, () => run(context));
      }
    }
  }

  async function runOne(kind: string, run: () => Promise<string>): Promise<void> {
    const record = { kind, beganAt: Date.now(), endedAt: Number.POSITIVE_INFINITY, detail: "" };
    records.push(record);
    running.add(kind);
    try {
      record.detail = await run();
      if (record.detail !== nobodyThere) addTo(kinds, kind);
    } catch (error) {
      failures.push(
        `after ${kind} the service did not come back: ${error instanceof Error ? error.message : String(error)}`,
      );
    } finally {
      record.endedAt = Date.now();
      running.delete(kind);
    }
  }

  const wanted = Object.values(lanes)
    .flatMap((faults) => Object.keys(faults))
    .filter((kind) => isWanted(kind));
  const working = Object.keys(lanes).map(runLane);
  return {
    records,
    kinds,
    extras,
    skipped,
    failures,
    running: () => [...running],
    hasSeenAll: () => wanted.every((kind) => kinds.has(kind)),
    async stop() {
      stopped.abort();
      await Promise.all(working);
    },
  };
}
