import type { Micros } from "../lib/money.ts";

/** A call that was sent to an upstream. Its outcome is counted in the hour in which it was sent. */
export interface SentCall {
  readonly walletId: string;
  readonly provider: string;
  readonly cost: Micros;
  readonly hour: string;
}

/** The calls of one wallet to one upstream. */
export interface WalletRow {
  day: string;
  wallet_id: string;
  provider: string;
  calls: number;
  cost: Micros;
  paid_calls: number;
  paid_cost: Micros;
  abandoned_calls: number;
  abandoned_cost: Micros;
}

/** Counters of calls per wallet, upstream and day. */
export interface WalletCounts {
  /** Returns false if the call was not counted, because there are `maxRows` rows. */
  add(event: "sent" | "paid" | "abandoned", call: SentCall): boolean;
  take(): WalletRow[];
}

export function createWalletCounts(maxRows: number): WalletCounts {
  // A new map for each batch, because there are many rows: see decision 0009.
  let rows = new Map<string, WalletRow>();

  function rowOf({ walletId, provider, hour }: SentCall): WalletRow | undefined {
    const day = hour.slice(0, 10);
    const name = `${walletId} ${provider} ${day}`;
    const known = rows.get(name);
    if (known || rows.size >= maxRows) return known;
    const none = { calls: 0, cost: 0n, paid_calls: 0, paid_cost: 0n, abandoned_calls: 0, abandoned_cost: 0n };
    const row = { day, wallet_id: walletId, provider, ...none };
    rows.set(name, row);
    return row;
  }

  return {
    add(event, call) {
      const row = rowOf(call);
      if (!row) return false;
      if (event === "sent") {
        row.calls += 1;
        row.cost += call.cost;
      } else {
        row[`${event}_calls`] += 1;
        row[`${event}_cost`] += call.cost;
      }
      return true;
    },
    take() {
      const taken = [...rows.values()];
      rows = new Map();
      return taken;
    },
  };
}
