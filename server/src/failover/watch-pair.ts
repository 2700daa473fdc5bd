import { setTimeout as wait } from "node:timers/promises";
import { type Host, replicaName, type View } from "./look-at-host.ts";

// Who promotes. The watcher looks at both hosts a few times a second and does three things, each told in the log:
//
//   arm       a replica follows closely: commits wait for it from now on, and once that is known to be in force the
//             replica is covered: it has every commit that anyone was told of
//   disarm    the replica is gone for a while: commits stop waiting for it, so that searches are sold again, and it is
//             covered no more
//   promote   the primary is gone for a while, and the replica was covered: it becomes the primary
//
// A replica that is not covered is never promoted: that would forget charges. A primary that is cut off from us and
// lives on is harmless: it waits for a replica that no longer follows it, and so acknowledges nothing.

export interface WatchOptions {
  hosts: readonly Host[];
  /** How long the primary may be away before its replica takes its place. */
  deadAfterMs: number;
  /** How long the primary waits for a replica that is away. */
  aloneAfterMs: number;
  onNews: (news: News) => void;
}

export interface News {
  what:
    | "armed"
    | "covered"
    | "disarmed"
    | "primary is away"
    | "promoting"
    | "promoted"
    | "not promoted"
    | "two primaries";
  host?: string;
  why?: string;
  ms?: number;
}

const lookEveryMs = 200;
/** A replica this close has caught up by the time the primary waits for it. */
const closeBytes = 16n * 1024n * 1024n;

type Primary = Extract<View, { role: "primary" }>;

export interface Watch {
  /** One look at both hosts, and what follows from it. */
  step(): Promise<void>;
  isCovered(): boolean;
}

export function createWatch({ hosts, deadAfterMs, aloneAfterMs, onNews }: WatchOptions): Watch {
  let isCovered = false;
  /** What the replica must have on its disk to be covered; known once waiting for it is in force. */
  let coveredFrom: bigint | undefined;
  let awaySince: number | undefined;
  let aloneSince: number | undefined;
  let told: string | undefined;

  /** Once, until something else is told. */
  function tell(news: News): void {
    if (told !== `${news.what} ${news.host}`) onNews(news);
    told = `${news.what} ${news.host}`;
  }

  function uncover(): void {
    isCovered = false;
    coveredFrom = undefined;
  }

  async function step(): Promise<void> {
    const views = await Promise.all(hosts.map(async (host) => ({ host, view: await host.look() })));
    const primaries = views.flatMap(({ host, view }) => (view.role === "primary" ? [{ host, view }] : []));
    const [primary, older] = primaries.toSorted((a, b) => b.view.timeline - a.view.timeline);
    if (older) tell({ what: "two primaries", host: older.host.name, why: "stop it and make it a replica again" });
    if (primary) return serve(primary.host, primary.view);
    const replica = views.find(({ view }) => view.role === "replica")?.host;
    const down = views.find(({ view }) => view.role === "down");
    awaySince ??= performance.now();
    tell({ what: "primary is away", ...(down && { host: down.host.name, why: whyOf(down.view) }) });
    if (performance.now() - awaySince >= deadAfterMs && replica) await replace(replica);
  }

  async function serve(host: Host, view: Primary): Promise<void> {
    if (awaySince !== undefined) told = undefined;
    awaySince = undefined;
    // Someone else has told it not to wait.
    if (!view.isWaiting) uncover();
    if (view.replica) return follow(host, view, view.replica);
    aloneSince ??= performance.now();
    if (!view.isWaiting || performance.now() - aloneSince < aloneAfterMs) return;
    // First in our own mind: from here on the primary may acknowledge what the replica has not got.
    uncover();
    await setWaiting(host, false);
    tell({ what: "disarmed", host: host.name, ms: Math.round(performance.now() - aloneSince) });
  }

  async function follow(host: Host, view: Primary, replica: NonNullable<Primary["replica"]>): Promise<void> {
    aloneSince = undefined;
    if (isCovered) return;
    if (!view.isWaiting) {
      if (replica.lagBytes > closeBytes) return;
      await setWaiting(host, true);
      tell({ what: "armed", host: host.name });
      return;
    }
    if (coveredFrom === undefined) {
      // The checkpointer is who makes commits wait. It reads its settings before a checkpoint, so after one they are in
      // force; and whatever was acknowledged before that is older than the log's end now.
      await host.run("checkpoint", 600_000);
      const [row] = await host.run("select (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::text as lsn", 1_000);
      coveredFrom = BigInt((row as { lsn: string }).lsn);
      return;
    }
    if (replica.hasFlushed < coveredFrom) return;
    isCovered = true;
    tell({ what: "covered", host: host.name });
  }

  async function replace(replica: Host): Promise<void> {
    if (!isCovered) {
      tell({ what: "not promoted", host: replica.name, why: "it may lack charges that callers were told of" });
      return;
    }
    tell({ what: "promoting", host: replica.name });
    const began = performance.now();
    // It has no replica itself, and must not wait for one.
    await setWaiting(replica, false);
    await replica.run("select pg_promote(true, 30)", 31_000);
    uncover();
    tell({ what: "promoted", host: replica.name, ms: Math.round(performance.now() - began) });
  }

  return { step, isCovered: () => isCovered };
}

/** Until it is told to stop. A step that fails is taken again: what it wanted to do is still to be done. */
export async function watchPair(options: WatchOptions, signal: AbortSignal): Promise<void> {
  const watch = createWatch(options);
  while (!signal.aborted) {
    const began = performance.now();
    await watch.step().catch(() => undefined);
    await wait(Math.max(0, lookEveryMs - (performance.now() - began)), undefined, { signal }).catch(() => undefined);
  }
}

async function setWaiting(host: Host, isOn: boolean): Promise<void> {
  await host.run(`alter system set synchronous_standby_names = '${isOn ? replicaName : ""}'`, 1_000);
  await host.run("select pg_reload_conf()", 1_000);
}

function whyOf(view: View): string {
  return view.role === "down" ? view.why : view.role;
}
