import { setTimeout as wait } from "node:timers/promises";
import { until } from "../../support/assertions/until.ts";
import type { Random } from "../random.ts";
import { type Cell, isReady } from "./cell.ts";
import { type Fleet, fail } from "./fleet.ts";

// Faults during moves, and the time during which they affect callers.

/** In the order in which the mover reports them. */
export const moveSteps = ["check", "copy", "fence", "drain", "import", "hand_over", "activate", "edge"] as const;
export const faultKinds = ["mover", "source server", "target server", "source database", "target database"] as const;
export type FaultKind = (typeof faultKinds)[number];

export interface Fault {
  kind: FaultKind;
  step: (typeof moveSteps)[number];
  /** The time between the step and the kill of the mover. */
  afterMs: number;
}

/** The first eight have each step once and each kind at least once; the first forty have every combination. */
export function planFaults(count: number, random: Random): Fault[] {
  return Array.from({ length: count }, (_, index) => ({
    kind: faultKinds[(index + Math.floor(index / moveSteps.length)) % faultKinds.length] ?? fail("no kind"),
    step: moveSteps[index % moveSteps.length] ?? fail("no step"),
    afterMs: index < moveSteps.length || random.isLucky(0.5) ? 0 : random.integer(1, 40),
  }));
}

export interface Outage {
  cell: string;
  from: number;
  /** Infinity while it lasts. */
  to: number;
}

/** HAProxy checks every second, and the server reconnects. */
const settleMs = 2_500;

/** Kills servers and databases, which are restarted at once. */
export class Outages {
  readonly all: Outage[] = [];
  readonly #fleet: Fleet;
  readonly #running = new Set<Promise<void>>();

  constructor(fleet: Fleet) {
    this.#fleet = fleet;
  }

  /** Resolves when the process was killed. */
  async inject(kind: FaultKind, { from, to }: { from: string; to: string }): Promise<void> {
    const cell = this.#fleet.cell(kind.startsWith("source") ? from : to);
    const outage = { cell: cell.name, from: performance.now(), to: Number.POSITIVE_INFINITY };
    this.all.push(outage);
    const isServer = kind.endsWith("server");
    if (isServer) cell.server.process.signal("SIGKILL");
    else await cell.postgres.killPostmaster();
    const recovering = recover(cell, isServer).finally(() => {
      outage.to = performance.now();
    });
    this.#running.add(recovering);
    recovering.then(
      () => this.#running.delete(recovering),
      () => undefined,
    );
  }

  async end(): Promise<void> {
    await Promise.all(this.#running);
  }

  overlaps(cells: readonly string[], from: number, to: number): boolean {
    return this.all.some((outage) => cells.includes(outage.cell) && outage.from <= to && outage.to >= from);
  }
}

async function recover(cell: Cell, isServer: boolean): Promise<void> {
  if (!isServer) await cell.postgres.restart();
  // The killed process may still answer for a moment.
  await wait(200);
  await until(`cell ${cell.name} is ready`, () => isReady(cell.server), 60_000);
  await wait(settleMs);
}
