import type { Micros } from "../lib/money.ts";
import type { UpstreamAnswer } from "../providers/provider.ts";
import { createUnheldCounts, type UnheldRow } from "./unheld-counts.ts";
import type { UnheldRequest } from "./unheld-requests.ts";
import { createWalletCounts, type SentCall, type WalletRow } from "./wallet-counts.ts";

/** Counters of this server since the last `take`. */
export interface Counts {
  /** Counts a refusal or replay that is not stored individually. */
  countUnheld: (request: Omit<UnheldRequest, "transport">) => void;
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
  /** The database rejected these counters. */
  recordLost: (taken: Pick<TakenCounts, "refusals">) => void;
}

export interface TakenCounts {
  refusals: string;
  upstreams: string;
  wallets: string;
  /** Requests and calls that were only counted in total, because there were too many rows. */
  uncounted: number;
  /** Hours in which refusals and replays were not counted. */
  incompleteHours: string[];
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
  const unheld = createUnheldCounts(maxRows);
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
    countUnheld(request) {
      if (!unheld.add(request)) uncounted += 1;
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
      const { rows, incompleteHours } = unheld.take();
      if (rows.length + upstreams.size + walletRows.length + incompleteHours.length === 0) return undefined;
      const taken = {
        refusals: JSON.stringify(rows),
        upstreams: JSON.stringify([...upstreams.values()].map(toRow)),
        wallets: JSON.stringify(walletRows.map(toRow)),
        uncounted,
        incompleteHours,
      };
      upstreams.clear();
      uncounted = 0;
      return taken;
    },
    recordLost: ({ refusals }) => unheld.recordLost(JSON.parse(refusals) as UnheldRow[]),
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
