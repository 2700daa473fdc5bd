import { randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import { type CostCap, endOfPeriod, periodOf } from "../lib/cost-cap.ts";
import { formatUsd, type Micros } from "../lib/money.ts";
import { createSpending, type Spending, withCounting } from "./spending.ts";

// The operator's own limit on the cost of a provider per day or month (UTC). The cost of a call counts when it is sent, and
// Redis adds up what all servers sent, so a cap is exceeded at most by the calls in flight when it is reached. Each server sends
// its costs one batch after another. A batch whose reply was lost is sent again under the same number and counts once.
//
// The counts of usage in PostgreSQL are a lower bound of the same sum, at most ten seconds old. They include the spending from
// before the cap was set, and replace Redis while it is unavailable or after it lost its data.

export interface CapReport {
  period: CostCap["period"];
  amount: string;
  spent: string;
  /** `spent` as a part of `amount`; more than 1 if the cap was exceeded. */
  ratio: number;
  resets_at: string;
  /** False if this server counts from PostgreSQL. */
  is_shared: boolean;
}

export interface CostCaps {
  /** Replaces the caps. The spending of the current period stays. */
  setCaps(upstreams: readonly { name: string; cap?: CostCap | undefined }[]): void;
  /** Call it when a call is sent. */
  recordCost(upstream: string, cost: Micros): void;
  /** The seconds until the period ends if the cap is reached, otherwise undefined. */
  reachedFor(upstream: string): number | undefined;
  /** Undefined without a cap. */
  report(upstream: string): CapReport | undefined;
  /** Reads the spending of all servers. Never rejects. */
  refresh(): Promise<void>;
  close(): void;
}

/** The cost of an upstream in the current periods of the database's clock. */
export interface UpstreamCost {
  provider: string;
  /** A UTC day such as 2030-01-31. */
  day: string;
  dayMicros: Micros;
  monthMicros: Micros;
}

export interface CapLevel {
  provider: string;
  spent: string;
  cap: string;
  period: string;
}

interface CostCapOptions {
  redis: Redis | undefined;
  /** Servers of the same database have the same caps. */
  database: string;
  readCosts: () => Promise<UpstreamCost[]>;
  /** Called once per period by each server. */
  onLevel: (level: "warning" | "reached", reached: CapLevel) => void;
  now?: () => number;
  intervalMs?: number;
}

/** From this part of a cap on, operators are warned. */
const warningRatio = 0.8;

interface Capped {
  cap: CostCap;
  spending: Spending | undefined;
  reported: Level;
}

type Level = "none" | "warning" | "reached";

export function createCostCaps(options: CostCapOptions): CostCaps {
  const { database, readCosts, onLevel, now = Date.now, intervalMs = 1_000 } = options;
  const redis = options.redis && withCounting(options.redis);
  const server = randomUUID();
  const capped = new Map<string, Capped>();

  function spendingOf(provider: string, state: Capped): Spending {
    const period = periodOf(state.cap, now());
    if (state.spending?.period === period) return state.spending;
    const key = `pb:cost:${database}:${provider}:${period}`;
    state.reported = "none";
    state.spending = createSpending({ redis, key, period, server, onChange: (of) => reportLevel(provider, of) });
    return state.spending;
  }

  function reportLevel(provider: string, spending: Spending): void {
    const state = capped.get(provider);
    if (state?.spending !== spending) return;
    const { cap, reported } = state;
    const level = levelOf(spending.total(), cap);
    state.reported = level;
    if (level === reported || level === "none" || (level === "warning" && reported === "reached")) return;
    const spent = formatUsd(spending.total());
    onLevel(level, { provider, spent, cap: formatUsd(cap.amount), period: spending.period });
  }

  async function readCounts(): Promise<void> {
    if (capped.size === 0) return;
    for (const { provider, day, dayMicros, monthMicros } of await readCosts()) {
      const state = capped.get(provider);
      const spending = state && spendingOf(provider, state);
      // The clock of the database can be in another period.
      if (!spending || !day.startsWith(spending.period)) continue;
      spending.setCounted(state.cap.period === "day" ? dayMicros : monthMicros);
    }
  }

  async function exchange(): Promise<void> {
    await Promise.all([...capped].map(([provider, state]) => spendingOf(provider, state).exchange()));
  }

  // A failed read is followed by the next one.
  const refreshCounts = (): Promise<void> => readCounts().catch(() => undefined);
  const timers = [
    setInterval(() => void exchange().catch(() => undefined), intervalMs).unref(),
    setInterval(() => void refreshCounts().catch(() => undefined), 5 * intervalMs).unref(),
  ];

  return {
    setCaps(upstreams) {
      const before = new Map(capped);
      capped.clear();
      for (const { name, cap } of upstreams)
        if (cap) capped.set(name, { spending: undefined, reported: "none", ...before.get(name), cap });
      refreshCounts().catch(() => undefined);
    },
    recordCost(provider, cost) {
      const state = capped.get(provider);
      if (state && cost > 0n) spendingOf(provider, state).add(cost);
    },
    reachedFor(provider) {
      const state = capped.get(provider);
      if (!state || spendingOf(provider, state).total() < state.cap.amount) return undefined;
      return Math.ceil((endOfPeriod(state.cap, now()) - now()) / 1_000);
    },
    report(provider) {
      const state = capped.get(provider);
      return state && describe(state.cap, spendingOf(provider, state), now());
    },
    async refresh() {
      await refreshCounts();
      await exchange();
    },
    close: () => timers.forEach((timer) => clearInterval(timer)),
  };
}

function describe(cap: CostCap, spending: Spending, nowMs: number): CapReport {
  return {
    period: cap.period,
    amount: formatUsd(cap.amount),
    spent: formatUsd(spending.total()),
    ratio: ratioOf(spending.total(), cap),
    resets_at: new Date(endOfPeriod(cap, nowMs)).toISOString(),
    is_shared: spending.isShared(),
  };
}

function levelOf(spent: Micros, cap: CostCap): Level {
  if (spent >= cap.amount) return "reached";
  return ratioOf(spent, cap) >= warningRatio ? "warning" : "none";
}

function ratioOf(spent: Micros, { amount }: CostCap): number {
  return Number((Number(spent) / Number(amount)).toFixed(4));
}
