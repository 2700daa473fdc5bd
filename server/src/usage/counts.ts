import type { Principal } from "../keys/keys.ts";
import type { Micros } from "../lib/money.ts";
import type { UpstreamAnswer } from "../providers/provider.ts";

/** What this server has counted since it was last taken. */
export interface Counts {
  /** A request with a good key that was refused before its hold, or answered again without one. */
  noteUnheld: (caller: Pick<Principal, "walletId" | "keyId" | "mode">, outcome: string) => void;
  /** `isOpen`: after it, others are asked before this upstream for a while. */
  noteCall: (answer: UpstreamAnswer, cost: Micros, isOpen: boolean) => void;
  noteCharge: (provider: string, charge: Micros) => void;
  /** Everything counted, as the rows that pb.write_tally reads, and from then on nothing; undefined if there is nothing. */
  take: () => { unheld: string; upstreams: string; uncounted: number } | undefined;
}

interface Unheld {
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
  /** The class of durations it belongs to; null for what is no call. */
  up_to_ms: number | null;
  calls: number;
  was_open: boolean;
  cost: Micros;
  revenue: Micros;
}

/** Fine where most answers come, and no finer than an hour of one upstream needs. The last is our own deadline. */
const durations = [
  25, 50, 75, 100, 150, 200, 250, 300, 400, 500, 750, 1_000, 1_500, 2_000, 3_000, 5_000, 7_500, 10_000,
];

const hourMs = 3_600_000;

/** At most so many different rows are kept: a flood of refusals by very many keys must not fill the memory. */
export function createCounts({ mostRows = 10_000, now = Date.now }: { mostRows?: number; now?: () => number }): Counts {
  const unheld = new Map<string, Unheld>();
  const upstreams = new Map<string, UpstreamRow>();
  let uncounted = 0;
  const hourNow = rememberHour(now);

  function upstreamRow(provider: string, outcome: string, up_to_ms: number | null): UpstreamRow {
    const hour = hourNow();
    const name = `${provider} ${outcome} ${hour} ${up_to_ms}`;
    const day = hour.slice(0, 10);
    const none = { calls: 0, was_open: false, cost: 0n, revenue: 0n };
    const row = upstreams.get(name) ?? { day, hour, provider, outcome, up_to_ms, ...none };
    upstreams.set(name, row);
    return row;
  }

  return {
    noteUnheld({ walletId, keyId, mode }, outcome) {
      const hour = hourNow();
      const name = `${keyId} ${hour} ${outcome}`;
      const known = unheld.get(name);
      if (known) known.searches += 1;
      else if (unheld.size >= mostRows) uncounted += 1;
      else unheld.set(name, { wallet_id: walletId, key_id: keyId, mode, hour, outcome, searches: 1 });
    },
    noteCall(answer, cost, isOpen) {
      const upToMs = durations.find((ms) => answer.tookMs <= ms) ?? 10_000;
      const row = upstreamRow(answer.provider, answer.ok ? "ok" : answer.reason, upToMs);
      row.calls += 1;
      row.cost += cost;
      row.was_open ||= isOpen;
    },
    noteCharge(provider, charge) {
      upstreamRow(provider, "ok", null).revenue += charge;
    },
    take() {
      if (unheld.size + upstreams.size === 0) return undefined;
      const taken = {
        unheld: JSON.stringify([...unheld.values()]),
        upstreams: JSON.stringify([...upstreams.values()].map(toRow)),
        uncounted,
      };
      unheld.clear();
      upstreams.clear();
      uncounted = 0;
      return taken;
    },
  };
}

/** When the hour began that it is now: written out once an hour, and not twice a search. */
function rememberHour(now: () => number): () => string {
  let begun = Number.NaN;
  let text = "";
  return () => {
    const moment = now();
    const hour = moment - (moment % hourMs);
    if (hour !== begun) {
      begun = hour;
      text = new Date(hour).toISOString();
    }
    return text;
  };
}

function toRow({ cost, revenue, ...row }: UpstreamRow): Record<string, unknown> {
  return { ...row, cost_micros: String(cost), revenue_micros: String(revenue) };
}
