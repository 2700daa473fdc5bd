// Current problems for the operator console, most severe first. A pure function of known state; unknown values are
// undefined. The alerts in deploy/ cover the same conditions over time and page people.

import { describeOffset, maxOffsetSeconds } from "../db/watch-clock.ts";
import { formatUsd, type Micros } from "../lib/money.ts";
import type { WorkerHealth } from "./read-health.ts";

export interface AttentionItem {
  /** `page`: act now. `ticket`: act today. */
  severity: "page" | "ticket";
  title: string;
  detail: string;
  runbook: string;
}

export interface UpstreamState {
  name: string;
  /** Not closed, because it failed and has not succeeded since. */
  circuit: { state: "closed" | "open" | "trial"; until: string | null };
  /** Its cost cap; `ratio` is the part of it that was spent. */
  cap?: { period: string; amount: string; spent: string; ratio: number; resets_at: string } | null;
  last_failure: { reason: string; at: string } | null;
}

export interface AttentionInput {
  now: Date;
  upstreams: readonly UpstreamState[];
  /** Proxies missing from PENNYBLACK_TRUSTED_PROXIES. */
  unlistedProxies?: readonly string[];
  /** The servers that report, and how many there should be: 0 if only this server is known. */
  servers?: { reporting: readonly ServerState[]; expected: number };
  /** Whether WAL should be archived: not in development. */
  expectsArchive?: boolean;
  /** Whether the OpenID Connect provider did not respond. */
  isSignInUnavailable?: boolean;
  /** Undefined if no operator database is configured. */
  database: DatabaseState | "unavailable" | undefined;
}

export interface ServerState {
  host: string;
  /** Of the last minute. Attempts are live requests without errors of the caller. */
  recent: { attempts: number; own_errors: number; upstream_errors: number };
  ledger_waiting: number;
  /** Ahead of the database if positive. */
  clock_offset_s: number;
}

export interface DatabaseState {
  lastReconciliation: { at: Date; differences: number } | undefined;
  partitionDays: number;
  /** Age of the oldest pending hold. */
  oldestPendingSeconds: number | undefined;
  worker: WorkerHealth;
  /** Wallets that caused more unpaid than paid upstream calls in the last hour. */
  abandonedCalls: readonly { walletId: string; calls: number; cost: Micros }[];
  usageLagSeconds: number;
  webhookLagSeconds: number;
  connections: number;
  maxConnections: number;
  /** Undefined if WAL is not archived. */
  archiver: { archivedAt: Date; failedAt: Date | undefined } | undefined;
  /** Undefined if the operator's role cannot read it. */
  lastBackup: { at: Date | undefined } | undefined;
}

const hourMs = 3_600_000;
const reconciliationMs = 2 * hourMs;
const workerMs = 60_000;
const maxCrashes = 2;
/** A hold lasts 60 seconds and is swept a few seconds later. */
const pendingSeconds = 180;
// The limits of the alerts in deploy/prometheus/rules.
const usageLagSeconds = 900;
const webhookLagSeconds = 300;
const archiveMs = 900_000;
const backupMs = 26 * hourMs;
const maxLedgerWaiting = 500;
const maxClockSeconds = 5;
const maxConnectionShare = 0.8;
/** Of a cost cap. */
const warningRatio = 0.8;
/** A few failures among few searches are not a trend. */
const minErrors = 5;
const maxOwnErrorRate = 0.0144;
const maxErrorRate = 0.072;

export function findAttention(input: AttentionInput): AttentionItem[] {
  const { now, upstreams, unlistedProxies = [], servers, database } = input;
  const { expectsArchive = false, isSignInUnavailable = false } = input;
  const ofDatabase =
    database === "unavailable" ? [databaseUnavailable] : database && databaseItems(database, now, expectsArchive);
  const items = [
    ...(servers ? serverItems(servers) : []),
    ...upstreamItems(upstreams),
    ...upstreams.flatMap((upstream) => capItem(upstream) ?? []),
    ...unlistedProxies.map(proxyItem),
    ...(isSignInUnavailable ? [signInUnavailable] : []),
    ...(ofDatabase ?? []),
  ];
  return items.toSorted((a, b) => Number(b.severity === "page") - Number(a.severity === "page"));
}

function serverItems({
  reporting,
  expected,
}: {
  reporting: readonly ServerState[];
  expected: number;
}): AttentionItem[] {
  const total = (name: "attempts" | "own_errors" | "upstream_errors"): number =>
    reporting.reduce((sum, { recent }) => sum + recent[name], 0);
  const [attempts, own, all] = [total("attempts"), total("own_errors"), total("own_errors") + total("upstream_errors")];
  const failed = (errors: number): string => `${errors} of ${plural(attempts, "request")} failed`;
  return [
    own >= minErrors &&
      own > maxOwnErrorRate * attempts &&
      item(
        "page",
        `${failed(own)} in the last minute because of our own service`,
        "Callers were not charged for them.",
        "own-availability",
      ),
    all >= minErrors &&
      all > maxErrorRate * attempts &&
      item(
        "page",
        `${failed(all)} in the last minute, including upstream failures`,
        "Callers were not charged for them.",
        "end-to-end-availability",
      ),
    ...reporting
      .filter(({ ledger_waiting: waiting }) => waiting > maxLedgerWaiting)
      .map(({ host, ledger_waiting: waiting }) =>
        item(
          "page",
          `${plural(waiting, "search", "searches")} wait for the ledger on ${host}`,
          "Searches arrive faster than the database processes them. Above 2,000, searches are rejected.",
          "ledger-queue-long",
        ),
      ),
    ...reporting
      .filter(({ clock_offset_s: offset }) => Math.abs(offset) > maxClockSeconds)
      .map(({ host, clock_offset_s: offset }) =>
        item(
          Math.abs(offset) > maxOffsetSeconds ? "page" : "ticket",
          `The clock of ${host} is ${describeOffset(offset)} the database's`,
          "A server that is wrong by more than a minute is not ready. One that is wrong by days fails every search.",
          "clock-offset",
        ),
      ),
    reporting.length < expected &&
      item(
        "ticket",
        `${plural(expected - reporting.length, "server")} of ${expected} not reporting`,
        "PENNYBLACK_SERVERS is the number of servers that should run. The others have stopped or cannot reach Redis.",
        "server-not-seen",
      ),
  ].filter((found) => found !== false);
}

function upstreamItems(upstreams: AttentionInput["upstreams"]): AttentionItem[] {
  const failing = upstreams.filter(({ circuit }) => circuit.state !== "closed");
  const isAll = failing.length > 0 && failing.length === upstreams.length;
  return failing.map(({ name, circuit, last_failure: failure }) => {
    const severity = isAll ? "page" : "ticket";
    const impact = isAll ? "No other upstream is healthy, so searches fail." : "Other upstreams are tried first.";
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

function capItem({ name, cap }: UpstreamState): AttentionItem | undefined {
  if (!cap || cap.ratio < warningRatio) return undefined;
  const limit = `cost cap of $${cap.amount} per ${cap.period}`;
  if (cap.ratio < 1) {
    const detail = `$${cap.spent} are spent. At the cap it is no longer called. Period ends: ${cap.resets_at}.`;
    return item("ticket", `${name} has spent ${Math.floor(cap.ratio * 100)}% of its ${limit}`, detail, "upstream-cap");
  }
  const detail = `$${cap.spent} are spent. Without another upstream, searches fail. Period ends: ${cap.resets_at}.`;
  return item("page", `${name} has reached its ${limit}`, detail, "upstream-cap");
}

function proxyItem(address: string): AttentionItem {
  const detail =
    "It sends X-Forwarded-For but is not in PENNYBLACK_TRUSTED_PROXIES, so its clients share one address and one limit for invalid keys.";
  return item("ticket", `A proxy is not listed: ${address}`, detail, "unlisted-proxy");
}

function databaseItems(state: DatabaseState, now: Date, expectsArchive: boolean): AttentionItem[] {
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
        "Holds expire after 60 seconds, when the worker is running. Until then, the money stays on hold.",
        "worker-not-seen",
      ),
    ...workerItems(state.worker, now),
    state.archiver ? archiverItem(state.archiver, now) : expectsArchive && archivingOff,
    backupItem(state, now),
    state.usageLagSeconds > usageLagSeconds &&
      item(
        "ticket",
        `Usage is ${plural(Math.floor(state.usageLagSeconds / 60), "minute")} behind`,
        "Customers see old usage. Balances and charges are not affected.",
        "usage-late",
      ),
    state.webhookLagSeconds > webhookLagSeconds &&
      item(
        "ticket",
        `Webhooks are ${plural(Math.floor(state.webhookLagSeconds / 60), "minute")} late`,
        "The oldest event that is due has not been sent.",
        "webhooks-late",
      ),
    state.connections > maxConnectionShare * state.maxConnections &&
      item(
        "ticket",
        `${state.connections} of ${plural(state.maxConnections, "database connection")} are in use`,
        "When none is left, servers cannot connect and searches fail.",
        "database-connections-high",
      ),
    ...state.abandonedCalls.map(({ walletId, calls, cost }) =>
      item(
        "ticket",
        `Wallet ${walletId} caused ${plural(calls, "unpaid upstream call")} costing $${formatUsd(cost)} in the last hour`,
        "Its callers abandoned searches, or their deadlines passed. It is limited to 5 such calls a minute.",
        "unpaid-calls",
      ),
    ),
  ].filter((found) => found !== false);
}

function workerItems({ seenAt, crashes, lateTasks }: WorkerHealth, now: Date): (AttentionItem | false)[] {
  return [
    (seenAt === undefined || now.getTime() - seenAt.getTime() > workerMs) &&
      item(
        "page",
        "No worker is running",
        seenAt ? `Last seen: ${seenAt.toISOString()}.` : "No worker has ever run on this database.",
        "worker-not-seen",
      ),
    crashes > maxCrashes &&
      item(
        "page",
        `Workers crashed ${crashes} times in the last ten minutes`,
        "They are restarted, but do only a part of their work. The log of the worker has the reason.",
        "worker-not-seen",
      ),
    lateTasks.length > 0 &&
      item(
        "ticket",
        `${plural(lateTasks.length, "task")} of the worker not done in time: ${lateTasks.join(", ")}`,
        "The worker runs, but these have not succeeded for several times their interval.",
        "task-fails",
      ),
  ];
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

function archiverItem(
  { archivedAt, failedAt }: NonNullable<DatabaseState["archiver"]>,
  now: Date,
): AttentionItem | false {
  const hasFailed = failedAt !== undefined && failedAt > archivedAt;
  if (!hasFailed && now.getTime() - archivedAt.getTime() <= archiveMs) return false;
  const detail = `Last archived: ${archivedAt.toISOString()}. Charges since then are lost if the primary's disk is lost and no replica has them.`;
  return item(
    "page",
    hasFailed ? "Archiving WAL fails" : "No WAL was archived for 15 minutes",
    detail,
    "archiving-fails",
  );
}

/** Without archiving, that is reported instead. */
function backupItem({ archiver, lastBackup }: DatabaseState, now: Date): AttentionItem | false {
  if (!archiver || !lastBackup) return false;
  const { at } = lastBackup;
  if (at && now.getTime() - at.getTime() <= backupMs) return false;
  const title = at ? "The last backup is older than 26 hours" : "No backup was completed on the current primary";
  const detail = at
    ? `Completed: ${at.toISOString()}.`
    : "After a failover, backups must be enabled on the new primary.";
  return item("ticket", title, detail, "backup-too-old");
}

const archivingOff = item(
  "ticket",
  "WAL archiving is off",
  "A restore loses everything since the last full backup, if there is one.",
  "archiving-fails",
);

const signInUnavailable = item(
  "ticket",
  "The OpenID Connect provider does not respond",
  "People cannot sign in to the console with it. Searches are not affected.",
  "sign-in-unavailable",
);

const databaseUnavailable = item(
  "page",
  "Database unavailable",
  "Checks that need the database are missing from this list.",
  "own-availability",
);

function item(severity: AttentionItem["severity"], title: string, detail: string, runbook: string): AttentionItem {
  return { severity, title, detail, runbook: `/docs/runbooks/${runbook}` };
}

function plural(count: number, word: string, words = `${word}s`): string {
  return `${count} ${count === 1 ? word : words}`;
}
