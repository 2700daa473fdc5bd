import type { Principal } from "../keys/keys.ts";
import type { Micros } from "../lib/money.ts";
import type { UpstreamAnswer } from "../providers/provider.ts";
import { createWalletCounts, type SentCall, type WalletRow } from "./wallet-counts.ts";

/** Counters of this server since the last `take`. */
export interface Counts {
  /** A request with a valid key that was refused before its hold, or answered from its Idempotency-Key. */
  recordRefusal: (caller: Pick<Principal, "walletId" | "keyId" | "mode">, outcome: string) => void;
  /** `isOpen`: the upstream's circuit is open after this call, so other upstreams are tried first. */
  recordCall: (answer: UpstreamAnswer, isOpen: boolean) => void;
  /** Books the cost of a call when it is sent. Pass the returned call to `recordPaid` or `recordAbandoned` later. */
  recordSent: (call: Omit<SentCall, "hour">) => SentCall;
  /** The caller was charged for the search of this call. */
  recordPaid: (call: SentCall) => void;
  /** The caller was not charged, because the caller ended the search. */
  recordAbandoned: (call: SentCall) => void;
  recordCharge: (provider: string, charge: Micros) => void;
  /** Returns the counters as JSON rows for pb.write_tally and resets them. Undefined if there are none. */
  take: () => TakenCounts | undefined;
}

export interface TakenCounts {
  refusals: string;
  upstreams: string;
  wallets: string;
  /** Requests and calls that were only totaled, because there were too many rows. */
  uncounted: number;
}

interface RefusalRow {
  wallet_id: string;
  key_id: string;
  mode: string;
  hour: string;
  outcome: string;
  searches: number;
}

interface UpstreamRow {
  day: string;
  hour: string;
  provider: string;
  outcome: string;
  /** Latency bucket; null for money, which is not a call. */
  up_to_ms: number | null;
  calls: number;
  was_open: boolean;
  cost: Micros;
  paid_cost: Micros;
  revenue: Micros;
}

/** Latency buckets in ms, finest where most answers fall. The last is our own deadline. */
const buckets = [25, 50, 75, 100, 150, 200, 250, 300, 400, 500, 750, 1_000, 1_500, 2_000, 3_000, 5_000, 7_500, 10_000];

const hourMs = 3_600_000;

/** `maxRows` bounds memory when many different keys are refused, or many wallets search. */
export function createCounts({ maxRows = 10_000, now = Date.now }: { maxRows?: number; now?: () => number }): Counts {
  const refusals = new Map<string, RefusalRow>();
  const upstreams = new Map<string, UpstreamRow>();
  const wallets = createWalletCounts(maxRows);
  let uncounted = 0;
  const hourNow = createHourClock(now);

  function upstreamRow(provider: string, outcome: string, up_to_ms: number | null, hour = hourNow()): UpstreamRow {
    const name = `${provider} ${outcome} ${hour} ${up_to_ms}`;
    const day = hour.slice(0, 10);
    const none = { calls: 0, was_open: false, cost: 0n, paid_cost: 0n, revenue: 0n };
    const row = upstreams.get(name) ?? { day, hour, provider, outcome, up_to_ms, ...none };
    upstreams.set(name, row);
    return row;
  }

  function countForWallet(event: "sent" | "paid" | "abandoned", call: SentCall): void {
    if (!wallets.add(event, call)) uncounted += 1;
  }

  return {
    recordRefusal({ walletId, keyId, mode }, outcome) {
      const hour = hourNow();
      const name = `${keyId} ${hour} ${outcome}`;
      const known = refusals.get(name);
      if (known) known.searches += 1;
      else if (refusals.size >= maxRows) uncounted += 1;
      else refusals.set(name, { wallet_id: walletId, key_id: keyId, mode, hour, outcome, searches: 1 });
    },
    recordCall(answer, isOpen) {
      const upToMs = buckets.find((ms) => answer.tookMs <= ms) ?? 10_000;
      const row = upstreamRow(answer.provider, answer.ok ? "ok" : answer.reason, upToMs);
      row.calls += 1;
      row.was_open ||= isOpen;
    },
    recordSent(call) {
      const sent = { ...call, hour: hourNow() };
      upstreamRow(sent.provider, "ok", null, sent.hour).cost += sent.cost;
      countForWallet("sent", sent);
      return sent;
    },
    recordPaid(call) {
      upstreamRow(call.provider, "ok", null, call.hour).paid_cost += call.cost;
      countForWallet("paid", call);
    },
    recordAbandoned: (call) => countForWallet("abandoned", call),
    recordCharge(provider, charge) {
      upstreamRow(provider, "ok", null).revenue += charge;
    },
    take() {
      const walletRows = wallets.take();
      if (refusals.size + upstreams.size + walletRows.length === 0) return undefined;
      const taken = {
        refusals: JSON.stringify([...refusals.values()]),
        upstreams: JSON.stringify([...upstreams.values()].map(toRow)),
        wallets: JSON.stringify(walletRows.map(toRow)),
        uncounted,
      };
      refusals.clear();
      upstreams.clear();
      uncounted = 0;
      return taken;
    },
  };
}

/** The start of the current hour as ISO text, formatted once an hour instead of twice per search. */
function createHourClock(now: () => number): () => string {
  let cachedHour = Number.NaN;
  let text = "";
  return () => {
    const moment = now();
    const hour = moment - (moment % hourMs);
    if (hour !== cachedHour) {
      cachedHour = hour;
      text = new Date(hour).toISOString();
    }
    return text;
  };
}

/** Amounts as text, in columns that end with their unit. */
function toRow(row: UpstreamRow | WalletRow): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) =>
      typeof value === "bigint" ? [`${name}_micros`, String(value)] : [name, value],
    ),
  );
}
