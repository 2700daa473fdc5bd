import type { Principal } from "../keys/keys.ts";
import type { Micros } from "../lib/money.ts";
import type { UpstreamAnswer } from "../providers/provider.ts";

/** What this server has counted since it was last taken. */
export interface Counts {
  /** A request with a good key that was refused before its hold, or answered again without one. */
  noteUnheld: (caller: Pick<Principal, "walletId" | "keyId" | "mode">, outcome: string) => void;
  noteCall: (answer: UpstreamAnswer, cost: Micros) => void;
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

interface UpstreamDay {
  day: string;
  provider: string;
  outcome: string;
  calls: number;
  cost: Micros;
  revenue: Micros;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** At most so many different rows are kept: a flood of refusals by very many keys must not fill the memory. */
export function createCounts({ mostRows = 10_000, now = Date.now }: { mostRows?: number; now?: () => number }): Counts {
  const unheld = new Map<string, Unheld>();
  const upstreams = new Map<string, UpstreamDay>();
  let uncounted = 0;

  function upstreamDay(provider: string, outcome: string): UpstreamDay {
    const day = startOf(now(), dayMs).slice(0, 10);
    const name = `${provider} ${outcome} ${day}`;
    const row = upstreams.get(name) ?? { day, provider, outcome, calls: 0, cost: 0n, revenue: 0n };
    upstreams.set(name, row);
    return row;
  }

  return {
    noteUnheld({ walletId, keyId, mode }, outcome) {
      const hour = startOf(now(), hourMs);
      const name = `${keyId} ${hour} ${outcome}`;
      const known = unheld.get(name);
      if (known) known.searches += 1;
      else if (unheld.size >= mostRows) uncounted += 1;
      else unheld.set(name, { wallet_id: walletId, key_id: keyId, mode, hour, outcome, searches: 1 });
    },
    noteCall(answer, cost) {
      const row = upstreamDay(answer.provider, answer.ok ? "ok" : answer.reason);
      row.calls += 1;
      row.cost += cost;
    },
    noteCharge(provider, charge) {
      upstreamDay(provider, "ok").revenue += charge;
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

function startOf(moment: number, stretchMs: number): string {
  return new Date(moment - (moment % stretchMs)).toISOString();
}

function toRow({ cost, revenue, ...row }: UpstreamDay): Record<string, string | number> {
  return { ...row, cost_micros: String(cost), revenue_micros: String(revenue) };
}
