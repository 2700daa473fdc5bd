import { setTimeout as wait } from "node:timers/promises";
import { type Host, replicaName, type View } from "./inspect-host.ts";

// Automatic failover of a primary and its replica. The watcher inspects both hosts five times a second and logs what it
// does:
//
//   synchronous commit on    The replica is close behind, so commits wait for it from now on. Once that is in force, the
//                            replica is in sync: it has every commit that was acknowledged.
//   synchronous commit off   The replica has been gone for a while. Commits stop waiting for it, so that searches work
//                            again, and it is no longer in sync.
//   promote                  The primary has been gone for a while and the replica was in sync: it becomes the primary.
//
// A replica that is not in sync is never promoted, because charges would be lost. A primary that is still running but
// partitioned from the watcher is harmless: it waits for a replica that no longer follows it and acknowledges nothing.

export interface WatchOptions {
  hosts: readonly Host[];
  /** How long the primary may be unavailable before the replica is promoted. */
  deadAfterMs: number;
  /** How long commits wait for an unavailable replica. */
  aloneAfterMs: number;
  onEvent: (event: FailoverEvent) => void;
}

export interface FailoverEvent {
  what:
    | "synchronous commit on"
    | "replica in sync"
    | "synchronous commit off"
    | "primary unavailable"
    | "promoting replica"
    | "replica promoted"
    | "promotion refused"
    | "two primaries";
  host?: string;
  why?: string;
  ms?: number;
}

const intervalMs = 200;
/** A replica with less lag has caught up by the time commits wait for it. */
const maxLagBytes = 16n * 1024n * 1024n;

type Primary = Extract<View, { role: "primary" }>;

export interface Watch {
  /** Inspects both hosts once and acts on the result. */
  step(): Promise<void>;
  isInSync(): boolean;
}

export function createWatch({ hosts, deadAfterMs, aloneAfterMs, onEvent }: WatchOptions): Watch {
  let isInSync = false;
  /** The LSN that the replica must have flushed to be in sync. Known once synchronous commit is in force. */
  let inSyncFrom: bigint | undefined;
  let unavailableSince: number | undefined;
  let aloneSince: number | undefined;
  let lastReported: string | undefined;

  /** Skips an event that repeats the last one. */
  function report(event: FailoverEvent): void {
    if (lastReported !== `${event.what} ${event.host}`) onEvent(event);
    lastReported = `${event.what} ${event.host}`;
  }

  function markOutOfSync(): void {
    isInSync = false;
    inSyncFrom = undefined;
  }

  async function step(): Promise<void> {
    const views = await Promise.all(hosts.map(async (host) => ({ host, view: await host.inspect() })));
    const primaries = views.flatMap(({ host, view }) => (view.role === "primary" ? [{ host, view }] : []));
    const [primary, older] = primaries.toSorted((a, b) => b.view.timeline - a.view.timeline);
    if (older) report({ what: "two primaries", host: older.host.name, why: "stop it and rebuild it as a replica" });
    if (primary) return handlePrimary(primary.host, primary.view);
    const replica = views.find(({ view }) => view.role === "replica")?.host;
    const down = views.find(({ view }) => view.role === "down");
    unavailableSince ??= performance.now();
    report({ what: "primary unavailable", ...(down && { host: down.host.name, why: reasonOf(down.view) }) });
    if (performance.now() - unavailableSince >= deadAfterMs && replica) await promote(replica);
  }

  async function handlePrimary(host: Host, view: Primary): Promise<void> {
    if (unavailableSince !== undefined) lastReported = undefined;
    unavailableSince = undefined;
    // Turned off manually.
    if (!view.isSynchronous) markOutOfSync();
    if (view.replica) return checkReplica(host, view, view.replica);
    aloneSince ??= performance.now();
    if (!view.isSynchronous || performance.now() - aloneSince < aloneAfterMs) return;
    // Before the statement: from here on the primary may acknowledge commits that the replica lacks.
    markOutOfSync();
    await setSynchronous(host, false);
    report({ what: "synchronous commit off", host: host.name, ms: Math.round(performance.now() - aloneSince) });
  }

  async function checkReplica(host: Host, view: Primary, replica: NonNullable<Primary["replica"]>): Promise<void> {
    aloneSince = undefined;
    if (isInSync) return;
    if (!view.isSynchronous) {
      if (replica.lagBytes > maxLagBytes) return;
      await setSynchronous(host, true);
      report({ what: "synchronous commit on", host: host.name });
      return;
    }
    if (inSyncFrom === undefined) {
      // The checkpointer process enables synchronous commit, and it reloads its settings before a checkpoint. After the
      // checkpoint they are in force, and every earlier acknowledged commit is before the current end of the WAL.
      await host.run("checkpoint", 600_000);
      const [row] = await host.run("select (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::text as lsn", 1_000);
      inSyncFrom = BigInt((row as { lsn: string }).lsn);
      return;
    }
    if (replica.flushedLsn < inSyncFrom) return;
    isInSync = true;
    report({ what: "replica in sync", host: host.name });
  }

  async function promote(replica: Host): Promise<void> {
    if (!isInSync) {
      report({ what: "promotion refused", host: replica.name, why: "it may lack acknowledged charges" });
      return;
    }
    report({ what: "promoting replica", host: replica.name });
    const startedAt = performance.now();
    // The new primary has no replica to wait for.
    await setSynchronous(replica, false);
    await replica.run("select pg_promote(true, 30)", 31_000);
    markOutOfSync();
    report({ what: "replica promoted", host: replica.name, ms: Math.round(performance.now() - startedAt) });
  }

  return { step, isInSync: () => isInSync };
}

/** Runs until aborted. A failed step is retried, because the condition that caused it persists. */
export async function watchPair(options: WatchOptions, signal: AbortSignal): Promise<void> {
  const watch = createWatch(options);
  while (!signal.aborted) {
    const startedAt = performance.now();
    await watch.step().catch(() => undefined);
    await wait(Math.max(0, intervalMs - (performance.now() - startedAt)), undefined, { signal }).catch(() => undefined);
  }
}

async function setSynchronous(host: Host, isOn: boolean): Promise<void> {
  await host.run(`alter system set synchronous_standby_names = '${isOn ? replicaName : ""}'`, 1_000);
  await host.run("select pg_reload_conf()", 1_000);
}

function reasonOf(view: View): string {
  return view.role === "down" ? view.why : view.role;
}
