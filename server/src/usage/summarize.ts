import type { Micros } from "../lib/money.ts";

export interface HourCount extends Total {
  start: Date;
}

interface Total {
  searches: number;
  succeeded: number;
  replays: number;
  refusals: number;
  charged: Micros;
}

export interface Summary {
  /** Recent charges per day. */
  burnPerDay: Micros;
  /** Whether charges of 24 hours are known, which the rate needs to predict the coming days. */
  isBurnSteady: boolean;
  today: Total & { typicalByNow: number | undefined };
  /** The current hour and the 23 before it, oldest first. */
  hours: HourCount[];
  last24: Total & { successRate: number | undefined };
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const typicalDays = 7;

/** The earliest hour that a summary needs. */
export function summaryStart(nowMs: number): Date {
  return new Date(startOf(nowMs, dayMs) - typicalDays * dayMs);
}

/** Takes hourly counts since `summaryStart`, in any order. Hours without requests may be missing. */
export function summarize(counts: readonly HourCount[], nowMs: number): Summary {
  const today = startOf(nowMs, dayMs);
  const thisHour = startOf(nowMs, hourMs);
  const since = (ms: number): HourCount[] => counts.filter(({ start }) => start.getTime() >= ms);
  const hours = Array.from({ length: 24 }, (_, index) => {
    const start = new Date(thisHour - (23 - index) * hourMs);
    return { start, ...total(counts.filter((hour) => hour.start.getTime() === start.getTime())) };
  });
  const last24 = total(hours);
  const { searches, succeeded } = last24;
  const charged = since(nowMs - typicalDays * dayMs).filter((hour) => hour.charged > 0n);
  const chargedMs = nowMs - Math.min(...charged.map(({ start }) => start.getTime()));
  return {
    burnPerDay: burnPerDay(charged, chargedMs),
    isBurnSteady: charged.length > 0 && chargedMs >= dayMs,
    today: { ...total(since(today)), typicalByNow: typicalByNow(counts, nowMs) },
    hours,
    last24: { ...last24, successRate: searches === 0 ? undefined : Number((succeeded / searches).toFixed(4)) },
  };
}

/** Charges of the last seven days per day, or since the first charge if that is more recent, but at least one day. */
function burnPerDay(charged: readonly HourCount[], chargedMs: number): Micros {
  if (charged.length === 0) return 0n;
  const ageMs = Math.min(Math.max(chargedMs, dayMs), typicalDays * dayMs);
  return (total(charged).charged * BigInt(dayMs)) / BigInt(Math.round(ageMs));
}

/**
 * Average number of searches up to this time of day over the previous days. The current hour counts in proportion to its
 * elapsed part. Days before the first search are left out.
 */
function typicalByNow(hours: readonly HourCount[], nowMs: number): number | undefined {
  const today = startOf(nowMs, dayMs);
  const earlier = hours.filter(({ start, searches }) => searches > 0 && start.getTime() < today);
  if (earlier.length === 0) return undefined;
  const firstDay = startOf(Math.min(...earlier.map(({ start }) => start.getTime())), dayMs);
  const days = (today - firstDay) / dayMs;
  const passedMs = nowMs - today;
  const weighted = earlier.reduce((sum, { start, searches }) => {
    const share = (passedMs - (start.getTime() % dayMs)) / hourMs;
    return sum + searches * Math.min(1, Math.max(0, share));
  }, 0);
  return Math.round(weighted / days);
}

function total(hours: readonly HourCount[]): Total {
  const count = (name: "searches" | "succeeded" | "replays" | "refusals"): number =>
    hours.reduce((sum, hour) => sum + hour[name], 0);
  return {
    searches: count("searches"),
    succeeded: count("succeeded"),
    replays: count("replays"),
    refusals: count("refusals"),
    charged: hours.reduce((sum, hour) => sum + hour.charged, 0n),
  };
}

function startOf(moment: number, periodMs: number): number {
  return moment - (moment % periodMs);
}
