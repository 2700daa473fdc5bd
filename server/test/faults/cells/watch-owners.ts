import { setTimeout as wait } from "node:timers/promises";
import type { Cell } from "./cell.ts";

// An account is active in a cell if its wallets are not fenced there. It must never be active in two.

export interface OwnerWatch {
  violations: string[];
  /** Number of comparisons of all cells. */
  snapshots: () => number;
  /** The times in which an account was active in no cell. Shorter ones than the interval may be missed. */
  gaps: { accountId: string; from: number; to: number }[];
  stop(): Promise<void>;
}

const intervalMs = 50;

/** The accounts that are active in a cell. */
export async function readActive({ owner }: Pick<Cell, "owner">, ids?: readonly string[]): Promise<string[]> {
  const { rows } = await owner.query<{ id: string }>(
    `select account_id as id from pb.wallets
     where (fenced_until is null or fenced_until <= now()) and ($1::uuid[] is null or account_id = any ($1))`,
    [ids ?? null],
  );
  return rows.map(({ id }) => id);
}

export type ReadActive = (ids: readonly string[]) => Promise<string[]>;

/** `cells` reads the active accounts of each cell. */
export function watchOwners(cells: ReadonlyMap<string, ReadActive>, accountIds: readonly string[]): OwnerWatch {
  const violations: string[] = [];
  const gaps: OwnerWatch["gaps"] = [];
  const lastSeen = new Map<string, number>();
  const missingSince = new Map<string, number>();
  const state = { isOn: true, snapshots: 0 };

  /** Reads the cells one after the other, so an account that moves in between can be seen twice. */
  async function check(): Promise<void> {
    const found = new Map<string, string[]>();
    let isComplete = true;
    for (const [name, read] of cells) {
      // A database that was killed cannot be read. Its cell is compared again after its restart.
      const ids = await read(accountIds).catch(() => undefined);
      isComplete &&= ids !== undefined;
      for (const id of ids ?? []) found.set(id, [...(found.get(id) ?? []), name]);
    }
    const now = performance.now();
    for (const id of accountIds) if (found.has(id) || isComplete) recordPresence(id, found.has(id), now);
    for (const [id, names] of found) if (names.length > 1) await confirm(id, names);
    state.snapshots += 1;
  }

  /** If it is still active in the cell that was read first, it was active there while it was active in the other. */
  async function confirm(id: string, [first = "", ...others]: string[]): Promise<void> {
    const still =
      (await cells
        .get(first)?.([id])
        .catch(() => [])) ?? [];
    if (still.length > 0) violations.push(`account ${id} was active in ${[first, ...others].join(" and ")}`);
  }

  function recordPresence(accountId: string, isActive: boolean, now: number): void {
    if (!isActive) {
      missingSince.set(accountId, missingSince.get(accountId) ?? lastSeen.get(accountId) ?? now);
      return;
    }
    const from = missingSince.get(accountId);
    if (from !== undefined) gaps.push({ accountId, from, to: now });
    missingSince.delete(accountId);
    lastSeen.set(accountId, now);
  }

  async function run(): Promise<void> {
    while (state.isOn) {
      await check();
      await wait(intervalMs);
    }
  }

  const running = run();
  return {
    violations,
    gaps,
    snapshots: () => state.snapshots,
    async stop() {
      state.isOn = false;
      await running;
    },
  };
}
