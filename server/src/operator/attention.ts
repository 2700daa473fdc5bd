// Current problems for the operator console, most severe first. A pure function of known state; unknown values are
// undefined. The alerts in deploy/ cover the same conditions over time and page people.

import { formatUsd, type Micros } from "../lib/money.ts";

export interface AttentionItem {
  /** `page`: act now. `ticket`: act today. */
  severity: "page" | "ticket";
  title: string;
  detail: string;
  runbook: string;
}

export interface UpstreamState {
  name: string;
  /** Not closed: it failed and has not succeeded since. */
  circuit: { state: "closed" | "open" | "trial"; until: string | null };
  last_failure: { reason: string; at: string } | null;
}

export interface AttentionInput {
  now: Date;
  upstreams: readonly UpstreamState[];
  /** Proxies missing from PENNYBLACK_TRUSTED_PROXIES. */
  unlistedProxies?: readonly string[];
  /** Undefined if no operator database is configured. */
  database: DatabaseState | "unavailable" | undefined;
}

export interface DatabaseState {
  lastReconciliation: { at: Date; differences: number } | undefined;
  partitionDays: number;
  /** Age of the oldest pending hold. */
  oldestPendingSeconds: number | undefined;
  /** Time of the last sweep by a worker. */
  sweptAt: Date | undefined;
  /** Wallets that caused more unpaid than paid upstream calls in the last hour. */
  abandonedCalls: readonly { walletId: string; calls: number; cost: Micros }[];
}

const hourMs = 3_600_000;
const reconciliationMs = 2 * hourMs;
const sweepMs = 300_000;
/** A hold lasts 60 seconds and is swept a few seconds later. */
const pendingSeconds = 180;

export function findAttention({ now, upstreams, unlistedProxies = [], database }: AttentionInput): AttentionItem[] {
  const ofDatabase = database === "unavailable" ? [databaseUnavailable] : database && databaseItems(database, now);
  const items = [...upstreamItems(upstreams), ...unlistedProxies.map(proxyItem), ...(ofDatabase ?? [])];
  return items.toSorted((a, b) => Number(b.severity === "page") - Number(a.severity === "page"));
}

function upstreamItems(upstreams: AttentionInput["upstreams"]): AttentionItem[] {
  const failing = upstreams.filter(({ circuit }) => circuit.state !== "closed");
  const isAll = failing.length > 0 && failing.length === upstreams.length;
  return failing.map(({ name, circuit, last_failure: failure }) => {
    const severity = isAll ? "page" : "ticket";
    const impact = isAll ? "No other upstream is healthy: searches fail." : "Other upstreams are tried first.";
    if (failure?.reason === "account_empty") {
      const detail = `It rejects searches until the account is topped up. ${impact}`;
      return item("page", `The ${name} account is out of credit`, detail, "upstream-account-empty");
    }
    if (failure?.reason === "credential") {
      const detail = `It rejects every search until the key is corrected. ${impact}`;
      return item("page", `${name} rejects our API key`, detail, "upstream-refuses-us");
    }
    const cause = failure ? ` Last failure: ${failure.reason.replaceAll("_", " ")} at ${failure.at}.` : "";
    const next = ` Next retry: ${circuit.state === "open" ? circuit.until : "with the next search"}.`;
    return item(severity, `${name} is failing`, `${impact}${cause}${next}`, "upstream-sidelined");
  });
}

function proxyItem(address: string): AttentionItem {
  const detail =
    "It sends X-Forwarded-For but is not in PENNYBLACK_TRUSTED_PROXIES, so its clients share one address and one limit for invalid keys.";
  return item("ticket", `A proxy is not listed: ${address}`, detail, "unlisted-proxy");
}

function databaseItems(state: DatabaseState, now: Date): AttentionItem[] {
  return [
    reconciliationItem(state.lastReconciliation, now),
    state.partitionDays < 7 &&
      item(
        state.partitionDays < 2 ? "page" : "ticket",
        `Partitions run out in ${plural(state.partitionDays, "day")}`,
        "Searches fail on a day without a partition. The worker creates them.",
        "partitions-run-out",
      ),
    (state.oldestPendingSeconds ?? 0) > pendingSeconds &&
      item(
        "page",
        `A hold has been pending for ${plural(state.oldestPendingSeconds ?? 0, "second")}`,
        "Holds expire after 60 seconds and are released by the worker. Until then the money stays reserved.",
        "worker-not-seen",
      ),
    (state.sweptAt === undefined || now.getTime() - state.sweptAt.getTime() > sweepMs) &&
      item(
        "page",
        "No worker activity for five minutes",
        state.sweptAt ? `Last sweep: ${state.sweptAt.toISOString()}.` : "No worker has ever run on this database.",
        "worker-not-seen",
      ),
    ...state.abandonedCalls.map(({ walletId, calls, cost }) =>
      item(
        "ticket",
        `Wallet ${walletId} caused ${plural(calls, "unpaid upstream call")} costing $${formatUsd(cost)} in the last hour`,
        "Its searches were abandoned or timed out by their own deadline. It is limited to 5 such calls a minute.",
        "unpaid-calls",
      ),
    ),
  ].filter((found) => found !== false);
}

function reconciliationItem(last: DatabaseState["lastReconciliation"], now: Date): AttentionItem | false {
  if (last && last.differences > 0) {
    const detail = `At ${last.at.toISOString()}, some counters did not match the rows they summarize.`;
    return item("page", `Reconciliation found ${plural(last.differences, "difference")}`, detail, "books-differ");
  }
  if (last && now.getTime() - last.at.getTime() <= reconciliationMs) return false;
  const detail = last ? `Last run: ${last.at.toISOString()}.` : "It has never run.";
  return item("ticket", "No reconciliation for two hours", detail, "reconciliation-too-old");
}

const databaseUnavailable = item(
  "page",
  "Database unavailable",
  "Checks that need the database are missing from this list.",
  "own-availability",
);

function item(severity: AttentionItem["severity"], title: string, detail: string, runbook: string): AttentionItem {
  return { severity, title, detail, runbook: `/docs/runbooks/${runbook}` };
}

function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}
