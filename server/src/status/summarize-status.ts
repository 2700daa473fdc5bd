import { faultOf } from "../telemetry/metric-table.ts";
import type { StatusCounts } from "./read-status.ts";
import type { ServiceState, ServiceStatus } from "./status-schema.ts";

/** One of several cells. */
export interface CellCounts {
  name: string;
  /** Undefined if the cell could not be read. */
  counts: StatusCounts | undefined;
}

const dayMs = 86_400_000;
const shownDays = 90;
/** Of the objectives in docs/observability.md and deploy/prometheus/rules/objectives.yml. */
const objectiveDays = 30;
export const targets = { availability: 0.995, own_availability: 0.999, own_latency: 0.99 } as const;
/** A server reports every five seconds. */
const maxReportAgeMs = 60_000;

/** What the page shows, of one installation. `isReachable`: the database has just returned these counts. */
export function summarizeStatus(counts: StatusCounts, { isReachable = true } = {}): ServiceStatus {
  return { ...summarize([counts], counts.now), state: isReachable ? stateOf(counts) : "unavailable" };
}

/** The same of several cells together. A cell that could not be read has no figures. */
export function summarizeCells(cells: readonly CellCounts[], now: string): ServiceStatus {
  const read = cells.flatMap(({ name, counts }) => (counts ? [nameIncidents(name, counts)] : []));
  const described = cells.map(({ name, counts }) => ({
    name,
    state: counts ? stateOf(counts) : ("unavailable" as const),
    availability: counts ? (summarizeStatus(counts).objectives[0]?.value ?? null) : null,
  }));
  return { ...summarize(read, now), state: worstOf(described.map(({ state }) => state)), cells: described };
}

function nameIncidents(cell: string, counts: StatusCounts): StatusCounts {
  return { ...counts, incidents: counts.incidents.map((each) => ({ ...each, title: `${cell}: ${each.title}` })) };
}

function summarize(cells: readonly StatusCounts[], now: string): Omit<ServiceStatus, "state"> {
  const outcomes = cells.flatMap((cell) => cell.outcomes);
  const latencies = cells.flatMap((cell) => cell.latencies);
  const today = Math.floor(Date.parse(now) / dayMs) * dayMs;
  const days = Array.from({ length: shownDays }, (_, index) => toDay(today - (shownDays - 1 - index) * dayMs));
  const since = toDay(today - (objectiveDays - 1) * dayMs);
  const recent = count(outcomes.filter(([day]) => day >= since));
  const recentLatencies = latencies.filter(([day]) => day >= since);
  const byDay = Map.groupBy(outcomes, ([day]) => day);
  const latenciesByDay = Map.groupBy(latencies, ([day]) => day);
  const values = {
    availability: ratio(recent.succeeded, recent.total),
    own_availability: ratio(recent.total - recent.ours, recent.total),
    own_latency: ratio(sum(recentLatencies, 2) - sum(recentLatencies, 3), sum(recentLatencies, 2)),
  };
  return {
    written_at: now,
    counted_before: cells.map((cell) => cell.counted_before).toSorted()[0] ?? now,
    objectives: (["availability", "own_availability", "own_latency"] as const).map((name) => {
      const value = values[name];
      return { name, target: targets[name], value, met: value === null ? null : value >= targets[name] };
    }),
    days: days.map((day) => {
      const { succeeded, total } = count(byDay.get(day) ?? []);
      return { day, availability: ratio(succeeded, total), p95_ms: p95(latenciesByDay.get(day) ?? []) };
    }),
    incidents: cells.flatMap((cell) => cell.incidents).toSorted((a, b) => (a.opened_at < b.opened_at ? 1 : -1)),
  };
}

function stateOf({ now, server_seen_at, incidents }: StatusCounts): ServiceState {
  if (server_seen_at === null || Date.parse(now) - Date.parse(server_seen_at) > maxReportAgeMs) return "unavailable";
  return worstOf(incidents.filter(({ closed_at }) => closed_at === null).map(({ impact }) => impact));
}

function worstOf(states: readonly ServiceState[]): ServiceState {
  return (["unavailable", "outage", "degraded"] as const).find((state) => states.includes(state)) ?? "operational";
}

/** Requests that were not rejected because of the caller, as in the objectives. */
function count(outcomes: StatusCounts["outcomes"]): { succeeded: number; ours: number; total: number } {
  const counted = { succeeded: 0, ours: 0, total: 0 };
  for (const [, outcome, requests] of outcomes) {
    const fault = faultOfUsage(outcome);
    if (fault === "caller") continue;
    counted.total += requests;
    if (fault === "none") counted.succeeded += requests;
    if (fault === "ours") counted.ours += requests;
  }
  return counted;
}

/** A search without an outcome of its own was neither charged nor released by its server, which was killed. */
function faultOfUsage(outcome: string): ReturnType<typeof faultOf> {
  return outcome === "expired" || outcome === "released" ? "ours" : faultOf(outcome);
}

function p95(latencies: StatusCounts["latencies"]): number | null {
  const target = sum(latencies, 2) * 0.95;
  let soFar = 0;
  for (const [, upToMs, searches] of latencies.toSorted(([, a], [, b]) => a - b)) {
    soFar += searches;
    if (soFar >= target) return upToMs;
  }
  return null;
}

function sum(latencies: StatusCounts["latencies"], column: 2 | 3): number {
  return latencies.reduce((total, row) => total + row[column], 0);
}

/** Rounded down to five digits, so that only a period without a failure has 1. */
function ratio(part: number, whole: number): number | null {
  return whole === 0 ? null : Math.floor((part * 100_000) / whole) / 100_000;
}

function toDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
