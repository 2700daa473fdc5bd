import { setTimeout as wait } from "node:timers/promises";
import { createRandom } from "../random.ts";
import type { ChaosCluster } from "./chaos-cluster.ts";
import { type FaultContext, lanes, noTarget, skippedKinds } from "./faults.ts";

export interface FaultRecord {
  kind: string;
  beganAt: number;
  endedAt: number;
  detail: string;
}

export interface FaultInjection {
  records: FaultRecord[];
  /** How often each kind ran, and other counters. */
  kinds: Map<string, number>;
  extras: Map<string, number>;
  skipped: Record<string, string>;
  /** Faults after which the service did not recover. */
  failures: string[];
  running(): string[];
  /** True when every kind that can run on this machine has run. */
  hasRunAll(): boolean;
  /** Resolves when every fault has been undone. */
  stop(): Promise<void>;
}

export interface InjectionOptions {
  cluster: ChaosCluster;
  seed: number;
  only: readonly string[];
  holdLifetimeMs: number;
  /** Multiplies the pauses between faults. */
  calm: number;
}

/** The minimum and maximum pause of a lane between two faults. */
const pausesMs: Record<string, [number, number]> = {
  killers: [1_000, 3_000],
  servers: [1_000, 4_000],
  pauses: [1_000, 4_000],
  network: [100, 600],
  dependencies: [300, 1_500],
  database: [500, 2_000],
};

export function injectFaults({ cluster, seed, only, holdLifetimeMs, calm }: InjectionOptions): FaultInjection {
  const stopped = new AbortController();
  const skipped = skippedKinds(cluster);
  const records: FaultRecord[] = [];
  const kinds = new Map<string, number>();
  const extras = new Map<string, number>();
  const failures: string[] = [];
  const running = new Set<string>();
  const addTo = (map: Map<string, number>, name: string): void => void map.set(name, (map.get(name) ?? 0) + 1);

  function isSelected(kind: string): boolean {
    return skipped[kind] === undefined && (only.length === 0 || only.includes(kind));
  }

  async function runLane(lane: string): Promise<void> {
    const random = createRandom(seed, lane);
    const context: FaultContext = {
      cluster,
      random,
      holdLifetimeMs,
      signal: stopped.signal,
      count: (name) => addTo(extras, name),
    };
    const faults = Object.entries(lanes[lane] ?? {}).filter(([kind]) => isSelected(kind));
    // Each kind runs once before any is repeated, so that a short run includes them all.
    while (faults.length > 0 && !stopped.signal.aborted) {
      for (const [kind, run] of random.shuffle(faults)) {
        const [min, max] = pausesMs[lane] ?? [1_000, 1_000];
        await wait(calm * random.integer(min, max), undefined, { signal: stopped.signal }).catch(() => undefined);
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
      if (record.detail !== noTarget) addTo(kinds, kind);
    } catch (error) {
      failures.push(
        `after ${kind} the service did not recover: ${error instanceof Error ? error.message : String(error)}`,
      );
    } finally {
      record.endedAt = Date.now();
      running.delete(kind);
    }
  }

  const selected = Object.values(lanes)
    .flatMap((faults) => Object.keys(faults))
    .filter((kind) => isSelected(kind));
  const working = Object.keys(lanes).map(runLane);
  return {
    records,
    kinds,
    extras,
    skipped,
    failures,
    running: () => [...running],
    hasRunAll: () => selected.every((kind) => kinds.has(kind)),
    async stop() {
      stopped.abort();
      await Promise.all(working);
    },
  };
}
