import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { createTestWallet, type TestWallet } from "../../support/services/server.ts";
import type { Seen } from "../journal.ts";
import { watchBalances } from "../watch-balances.ts";
import { type AuditResult, auditChaos } from "./audit-chaos.ts";
import { openCallerLog } from "./caller-log.ts";
import { type CallerCounts, Callers } from "./callers.ts";
import { type ChaosCluster, openChaosCluster } from "./chaos-cluster.ts";
import { type Drawing, drawFaults } from "./draw-faults.ts";
import { calmUpstream } from "./faults.ts";
import { formatHistory } from "./format-history.ts";
import { Owners } from "./owners.ts";
import { createRandom, type Random } from "./random.ts";
import type { ChaosOptions } from "./read-options.ts";
import { type Failover, failOver } from "./run-failover.ts";

export interface ChaosResult {
  auditResult: AuditResult;
  drawing: Drawing;
  callers: CallerCounts;
  owners: Owners["counts"];
  seconds: number;
  failovers: Failover[];
  /** The histories of the first violations. */
  histories: string[];
}

const usualHoldLifeMs = 60_000;

export async function runChaos(options: ChaosOptions, say: (line: string) => void): Promise<ChaosResult> {
  say("starting PostgreSQL with a replica, Redis, two upstreams, three servers, a worker and the watcher");
  const fixture = await openChaosCluster(options);
  try {
    return await runIn(fixture, options, say);
  } finally {
    await fixture.close();
  }
}

async function runIn(fixture: ChaosCluster, options: ChaosOptions, say: (line: string) => void): Promise<ChaosResult> {
  const { seed, clients, searchesPerSecond } = options;
  const holdLifeMs = options.holdLifeMs ?? usualHoldLifeMs;
  const began = performance.now();
  const wallets = await createWallets(fixture, options);
  await fixture.upstream.behave(...calmUpstream);
  const log = openCallerLog(join(fixture.folder, "callers.tsv"));
  const watch = watchBalances("", { wholeEveryMs: 5_000, findUrl: () => primaryUrl(fixture) });
  const owners = new Owners(fixture, wallets.owned, createRandom(seed, "owners"));
  const refusals = recordRefusals(wallets.rich);
  const callers = new Callers({
    log,
    random: createRandom(seed, "callers"),
    serverUrls: fixture.servers.map((server) => server.url),
    pickWallet: wallets.pick,
    onSeen: refusals.note,
    clients,
    searchesPerSecond,
  });
  const only = options.kind === "failover" ? ["nothing by chance"] : options.only;
  const drawing = drawFaults({ fixture, seed, only, holdLifeMs, calm: options.calm });
  const housekeeping = startHousekeeping(fixture, options.holdLifeMs);
  const failovers: Failover[] = [];
  if (options.kind === "failover") {
    const done = await failOver(fixture, callers, options.times, say);
    failovers.push(...done.failovers);
    drawing.records.push(...done.records);
    drawing.kinds.set("primary_killed", done.records.length);
    drawing.extras.set("kills", done.records.length);
  } else {
    await untilEnough({ options, callers, drawing, began, say });
    say("no more faults; the service has to be whole again");
  }
  await drawing.stop();
  await fixture.pair.heal();
  await Promise.race([callers.timeToPaid(), wait(30_000)]);
  await callers.stop();
  await owners.stop();
  say("waiting for the worker to end what dead servers held, then the audit");
  const auditResult = await auditChaos({ fixture, log, owners, watch, emptied: refusals.emptied, holdLifeMs });
  await housekeeping.stop();
  auditResult.faults.push(...refusals.faults, ...callers.faults, ...drawing.failures);
  const histories: string[] = [];
  for (const fault of auditResult.faults.slice(0, 5))
    histories.push(await formatHistory(fixture, fault, log, drawing.records));
  await log.close();
  const seconds = (performance.now() - began) / 1_000;
  return { auditResult, drawing, callers: callers.counts, owners: owners.counts, seconds, histories, failovers };
}

interface Wallets {
  rich: readonly TestWallet[];
  owned: readonly TestWallet[];
  pick: (random: Random) => TestWallet;
}

/** The rich never run dry. Of the poor, a few at a time are in use, and there are always fresh ones. */
async function createWallets(fixture: ChaosCluster, { minutes }: ChaosOptions): Promise<Wallets> {
  async function make(count: number, balance: string): Promise<TestWallet[]> {
    const made: TestWallet[] = [];
    while (made.length < count) made.push(await createTestWallet(fixture, balance));
    return made;
  }
  const rich = await make(12, "90000.00");
  const owned = await make(3, "100.00");
  const poor = await make(Math.ceil(20 + minutes * 20), "0.60");
  const began = performance.now();
  const perPoor = (minutes * 60_000) / (poor.length - 10);
  return {
    rich,
    owned,
    pick(random) {
      if (random.isLucky(0.85)) return random.pick(rich);
      const first = Math.min(Math.floor((performance.now() - began) / perPoor), poor.length - 5);
      return poor[first + random.integer(0, 4)] ?? random.pick(poor);
    },
  };
}

function recordRefusals(rich: readonly TestWallet[]) {
  const richIds = new Set(rich.map((wallet) => wallet.walletId));
  const emptied = new Set<string>();
  const faults: string[] = [];
  return {
    emptied,
    faults,
    note: ({ walletId }: TestWallet, seen: Seen): void => {
      if (seen.kind !== "answered" || seen.status !== 402) return;
      if (richIds.has(walletId))
        faults.push(`a false 402 ${seen.code}: ${seen.requestId} of wallet ${walletId}, which is rich`);
      else if (seen.code === "insufficient_balance") emptied.add(walletId);
    },
  };
}

async function primaryUrl(fixture: ChaosCluster): Promise<string> {
  const primary = await fixture.pair.findPrimary();
  if (!primary) throw new Error("no primary");
  return primary.url.replace(/\/postgres$/, "/pennyblack");
}

interface Waiting {
  options: ChaosOptions;
  callers: Callers;
  drawing: Drawing;
  began: number;
  say: (line: string) => void;
}

async function untilEnough({ options, callers, drawing, began, say }: Waiting): Promise<void> {
  const until = performance.now() + options.minutes * 60_000;
  // On a slow machine a short run needs longer to see them all, but not for ever.
  const latest = performance.now() + Math.max(options.minutes * 2 * 60_000, 60_000);
  let last = { searches: 0, at: performance.now() };
  const isEnough = (): boolean =>
    performance.now() >= until &&
    callers.counts.searches >= options.searches &&
    (drawing.hasSeenAll() || performance.now() >= latest);
  while (!isEnough() && drawing.failures.length === 0) {
    const left = until - performance.now();
    await wait(left > 0 ? Math.min(5_000, left) : 2_000);
    const { searches, paid } = callers.counts;
    const perSecond = (searches - last.searches) / ((performance.now() - last.at) / 1_000);
    last = { searches, at: performance.now() };
    const seconds = Math.round((performance.now() - began) / 1_000);
    say(
      `${String(seconds).padStart(5)} s  ${searches} searches (${Math.round(perSecond)}/s), ${paid} paid, ${drawing.extras.get("kills") ?? 0} kills; now: ${drawing.running().join(", ")}`,
    );
  }
}

/** Keeps what grows small, and in the short form lets time go by for holds. */
function startHousekeeping(fixture: ChaosCluster, holdLifeMs: number | undefined): { stop: () => Promise<void> } {
  const state = { isOn: true };
  async function keepHouse(): Promise<void> {
    while (state.isOn) {
      fixture.upstream.requests.length = 0;
      // The database may be away, and comes back.
      if (holdLifeMs !== undefined) await fixture.owner.query(ageHolds, [holdLifeMs]).catch(() => undefined);
      await wait(500);
    }
  }
  const working = keepHouse();
  return {
    async stop() {
      state.isOn = false;
      await working;
    },
  };
}

const ageHolds = `
  update pb.searches set expires_at = clock_timestamp()
  where state = 'pending' and held_at < clock_timestamp() - $1 * interval '1 millisecond'
    and expires_at > clock_timestamp()`;
