import type { LedgerEntry } from "../../src/evidence/ledger-lines.ts";
import type { Random } from "../faults/random.ts";
import { uuidOf } from "../support/data/uuid-of.ts";
import { hourOf } from "./ledger-rows.ts";

// Generated changes of a ledger's rows. Each returns other rows; the given ones are not changed.

export type Tamper = (rows: readonly LedgerEntry[], random: Random, context: TamperContext) => LedgerEntry[];

export interface TamperContext {
  walletIds: readonly string[];
  /** Every closed hour. */
  hours: readonly string[];
}

const kinds = ["capture", "refund", "top_up", "credit", "reversal", "reinstatement", "settlement", "receivable"];
const accounts = ["wallet", "revenue", "cash", "promotion", "receivable"];

export const tamperings: Record<string, Tamper> = {
  "delete an entry": (rows, random) => without(rows, [random.pick(rows)]),
  "delete several entries": (rows, random) => without(rows, random.shuffle(rows).slice(0, random.integer(2, 20))),
  "delete a wallet's hour": (rows, random) => {
    const { walletId, ...entry } = random.pick(rows);
    const hour = hourOf({ walletId, ...entry });
    return rows.filter((row) => row.walletId !== walletId || hourOf(row) !== hour);
  },
  "delete a wallet's entries": (rows, random) => {
    const { walletId } = random.pick(rows);
    return rows.filter((row) => row.walletId !== walletId);
  },
  "change the id": change((row, random) => ({
    id: uuidOf(Number(row.createdAtMicros / 1_000n) + random.integer(0, 9)),
  })),
  "change the amount": change((row, random) => ({
    amountMicros: row.amountMicros + BigInt(random.pick([1, -1, 10_000, 1_000_000])),
  })),
  "change the kind": change((row, random) => ({ kind: random.pick(kinds.filter((kind) => kind !== row.kind)) })),
  "change the account that is debited": change((row, random) => ({
    fromAccount: random.pick(accounts.filter((account) => account !== row.fromAccount)),
  })),
  "change the account that is credited": change((row, random) => ({
    toAccount: random.pick(accounts.filter((account) => account !== row.toAccount)),
  })),
  "change the search": change((row, random) => ({
    searchId: row.searchId !== null && random.isLucky(0.5) ? null : uuidOf(Number(row.createdAtMicros / 1_000n)),
  })),
  "change the time by a microsecond": change((row) => ({ createdAtMicros: row.createdAtMicros + 1n })),
  "move an entry to another wallet": change((row, random, { walletIds }) => ({
    walletId: random.pick(walletIds.filter((id) => id !== row.walletId)),
  })),
  "move an entry to another hour": change((row, random, { hours }) => ({
    createdAtMicros: moved(row, random.pick(hours.filter((hour) => hour !== hourOf(row)))),
  })),
  "insert an entry": (rows, random, { walletIds, hours }) => {
    const row = random.pick(rows);
    const createdAtMicros = moved(row, random.pick(hours)) + BigInt(random.integer(1, 999));
    const id = uuidOf(Number(createdAtMicros / 1_000n));
    return [...rows, { ...row, id, walletId: random.pick(walletIds), createdAtMicros, searchId: row.searchId && id }];
  },
  "duplicate an entry": (rows, random) => {
    const row = random.pick(rows);
    return [...rows, { ...row, id: uuidOf(Number(row.createdAtMicros / 1_000n)) }];
  },
  "swap the times of two entries of an hour": swap(sameHour, (a, b) => [
    { ...a, createdAtMicros: b.createdAtMicros },
    { ...b, createdAtMicros: a.createdAtMicros },
  ]),
  "swap the wallets of two entries": swap(
    (a, b) => a.walletId !== b.walletId,
    (a, b) => [
      { ...a, walletId: b.walletId },
      { ...b, walletId: a.walletId },
    ],
  ),
  "swap the hours of two entries": swap(
    (a, b) => hourOf(a) !== hourOf(b),
    (a, b) => [
      { ...a, createdAtMicros: moved(a, hourOf(b)) },
      { ...b, createdAtMicros: moved(b, hourOf(a)) },
    ],
  ),
};

function without(rows: readonly LedgerEntry[], removed: readonly LedgerEntry[]): LedgerEntry[] {
  return rows.filter((row) => !removed.includes(row));
}

function change(make: (row: LedgerEntry, random: Random, context: TamperContext) => Partial<LedgerEntry>): Tamper {
  return (rows, random, context) => {
    const row = random.pick(rows);
    return rows.map((entry) => (entry === row ? { ...row, ...make(row, random, context) } : entry));
  };
}

function swap(
  isPair: (a: LedgerEntry, b: LedgerEntry) => boolean,
  exchange: (a: LedgerEntry, b: LedgerEntry) => [LedgerEntry, LedgerEntry],
): Tamper {
  return (rows, random) => {
    const first = random.pick(rows.filter((a) => rows.some((b) => a !== b && isPair(a, b))));
    const second = random.pick(rows.filter((b) => b !== first && isPair(first, b)));
    return [...without(rows, [first, second]), ...exchange(first, second)];
  };
}

function sameHour(a: LedgerEntry, b: LedgerEntry): boolean {
  return a.walletId === b.walletId && hourOf(a) === hourOf(b) && a.createdAtMicros !== b.createdAtMicros;
}

/** The same time within another hour. */
function moved({ createdAtMicros }: LedgerEntry, hour: string): bigint {
  return BigInt(Date.parse(hour)) * 1_000n + (createdAtMicros % 3_600_000_000n);
}
