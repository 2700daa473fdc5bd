// What is wrong now, in sentences, the worst first. Pure: what is known comes in, and what is not known is undefined. The
// alerts in deploy/ watch the same over time and wake people; this is for who has come to look.

export interface Item {
  /** `page`: someone should act now. `ticket`: today. */
  severity: "page" | "ticket";
  title: string;
  detail: string;
  runbook: string;
}

export interface UpstreamState {
  name: string;
  /** Not closed: it has failed, and not answered since. */
  circuit: { state: "closed" | "open" | "trial"; until: string | null };
  last_failure: { reason: string; at: string } | null;
}

export interface Known {
  now: Date;
  upstreams: readonly UpstreamState[];
  /** "silent" if it was asked and did not answer; undefined where operators have none. */
  database: DatabaseKnown | "silent" | undefined;
}

export interface DatabaseKnown {
  lastReconciliation: { at: Date; differences: number } | undefined;
  partitionDays: number;
  /** Of the hold that has been in flight for longest. */
  oldestPendingSeconds: number | undefined;
  /** When a worker last swept. */
  sweptAt: Date | undefined;
}

const hourMs = 3_600_000;
const reconciliationMs = 2 * hourMs;
const sweepMs = 300_000;
/** A hold lives a minute and is swept seconds later. */
const pendingSeconds = 180;

export function findAttention({ now, upstreams, database }: Known): Item[] {
  const ofDatabase = database === "silent" ? [silentDatabase] : database && databaseItems(database, now);
  const items = [...upstreamItems(upstreams), ...(ofDatabase ?? [])];
  return items.toSorted((a, b) => Number(b.severity === "page") - Number(a.severity === "page"));
}

function upstreamItems(upstreams: Known["upstreams"]): Item[] {
  const failing = upstreams.filter(({ circuit }) => circuit.state !== "closed");
  const isAll = failing.length > 0 && failing.length === upstreams.length;
  return failing.map(({ name, circuit, last_failure: failure }) => {
    const severity = isAll ? "page" : "ticket";
    const others = isAll ? "No other upstream is well: searches fail." : "Others are asked before it.";
    if (failure?.reason === "account_empty") {
      const title = `Our account with ${name} is empty`;
      return item("page", title, `It refuses searches until it is paid. ${others}`, "upstream-account-empty");
    }
    if (failure?.reason === "credential") {
      const title = `${name} refuses our credential`;
      return item("page", title, `It answers no search until its key is right. ${others}`, "upstream-refuses-us");
    }
    const why = failure ? ` Its last failure was ${failure.reason.replaceAll("_", " ")} at ${failure.at}.` : "";
    const until = ` It is tried again ${circuit.state === "open" ? `at ${circuit.until}` : "with the next search"}.`;
    return item(severity, `${name} is failing`, `${others}${why}${until}`, "upstream-sidelined");
  });
}

function databaseItems(known: DatabaseKnown, now: Date): Item[] {
  return [
    reconciliationItem(known.lastReconciliation, now),
    known.partitionDays < 7 &&
      item(
        known.partitionDays < 2 ? "page" : "ticket",
        `Partitions run out in ${plural(known.partitionDays, "day")}`,
        "Without a partition for the day no search can be held. The worker makes them.",
        "partitions-run-out",
      ),
    (known.oldestPendingSeconds ?? 0) > pendingSeconds &&
      item(
        "page",
        `A hold has been pending for ${plural(known.oldestPendingSeconds ?? 0, "second")}`,
        "A hold lives 60 seconds and is then given back by the worker. Until it is, the money can be spent by nobody.",
        "worker-not-seen",
      ),
    (known.sweptAt === undefined || now.getTime() - known.sweptAt.getTime() > sweepMs) &&
      item(
        "page",
        "No worker has been seen for five minutes",
        known.sweptAt ? `The last sweep was at ${known.sweptAt.toISOString()}.` : "None has ever swept this database.",
        "worker-not-seen",
      ),
  ].filter((found) => found !== false);
}

function reconciliationItem(last: DatabaseKnown["lastReconciliation"], now: Date): Item | false {
  if (last && last.differences > 0) {
    const detail = `Reconciliation at ${last.at.toISOString()} found what the rows do not account for.`;
    return item("page", `The books have ${plural(last.differences, "difference")}`, detail, "books-differ");
  }
  if (last && now.getTime() - last.at.getTime() <= reconciliationMs) return false;
  const detail = last ? `The last one was at ${last.at.toISOString()}.` : "There has been none yet.";
  return item("ticket", "The books have not been proven for two hours", detail, "reconciliation-too-old");
}

const silentDatabase = item(
  "page",
  "The database does not answer operators",
  "What it would tell is not in this list.",
  "own-availability",
);

function item(severity: Item["severity"], title: string, detail: string, runbook: string): Item {
  return { severity, title, detail, runbook: `/docs/runbooks/${runbook}` };
}

function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}
