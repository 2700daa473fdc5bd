import { cpSync, globSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { until } from "../../support/assertions/until.ts";
import { createTestWallet, type TestWallet } from "../../support/services/server.ts";
import { type AuditReport, audit } from "../audit.ts";
import { Callers } from "../callers.ts";
import { Journal } from "../journal.ts";
import { createRandom, type Random } from "../random.ts";
import { watchBalances } from "../watch-balances.ts";
import { auditNodes } from "./audit-nodes.ts";
import { type ChaosCluster, openChaosCluster } from "./chaos-cluster.ts";
import { healthyUpstream } from "./faults.ts";
import { formatHistory } from "./format-history.ts";
import { type FaultInjection, injectFaults } from "./inject-faults.ts";
import { Owners } from "./owners.ts";
import type { ChaosOptions } from "./read-options.ts";
import { type Failover, failOver } from "./run-failover.ts";

export interface ChaosResult {
  audited: AuditReport;
  snapshots: number;
  injection: FaultInjection;
  callers: Callers["counts"];
  owners: Owners["counts"];
  seconds: number;
  failovers: Failover[];
  /** From the end of fault injection until the primary had two replicas again. Undefined if it did not. */
  recoveredMs: number | undefined;
  copiedReplicas: number;
  /** The histories of the first violations. */
  histories: string[];
  /** The folder with the logs of a run with violations. */
  logs: string | undefined;
}

type Log = (line: string) => void;

const defaultHoldLifetimeMs = 60_000;

export async function runChaos(options: ChaosOptions, log: Log): Promise<ChaosResult> {
  log(`seed ${options.seed}`);
  log("starting three database nodes with Patroni, HAProxy, Redis, two upstreams, three servers and a worker");
  const cluster = await openChaosCluster(options);
  try {
    return await runIn(cluster, options, log);
  } finally {
    await cluster.close();
  }
}

async function runIn(cluster: ChaosCluster, options: ChaosOptions, log: Log): Promise<ChaosResult> {
  const { seed, clients, searchesPerSecond } = options;
  const holdLifetimeMs = options.holdLifetimeMs ?? defaultHoldLifetimeMs;
  const startedAt = performance.now();
  const wallets = await createWallets(cluster, options);
  await cluster.upstream.behave(...healthyUpstream);
  const journal = new Journal(join(cluster.folder, "journal.jsonl"));
  const watch = watchBalances({ findUrl: () => cluster.findPrimaryUrl(), fullCheckIntervalMs: 5_000 });
  const owners = new Owners(cluster, wallets.owned, createRandom(seed, "owners"));
  const callers = new Callers({
    journal,
    random: createRandom(seed, "callers"),
    serverUrls: cluster.servers.map((server) => server.url),
    pickWallet: wallets.pick,
    clients,
    searchesPerSecond,
    timeoutsMs: [4_000, 8_000, 16_000],
  });
  const only = options.kind === "failover" ? ["no random faults"] : options.only;
  const injection = injectFaults({ cluster, seed, only, holdLifetimeMs, calm: options.calm });
  const maintenance = startMaintenance(cluster, options.holdLifetimeMs);
  const failovers: Failover[] = [];
  if (options.kind === "failover") {
    const done = await failOver(cluster, callers, options, log);
    failovers.push(...done.failovers);
    injection.records.push(...done.records);
    injection.failures.push(...done.failures);
    for (const { kind } of done.records) injection.kinds.set(kind, (injection.kinds.get(kind) ?? 0) + 1);
  } else {
    await runUntilComplete({ options, callers, injection, startedAt, log });
    log("fault injection ended, waiting for the service to recover");
  }
  await injection.stop();
  const recoveredMs = await recover(cluster, injection.failures);
  await Promise.race([callers.timeToPaid(), wait(30_000)]);
  await callers.stop();
  await owners.stop();
  const audited =
    recoveredMs === undefined
      ? await auditUnrecovered(cluster, journal, log)
      : await auditRecovered({ cluster, journal, owners, holdLifetimeMs, log });
  const watched = await watch.stop();
  await maintenance.stop();
  audited.violations.push(...watched.violations.slice(0, 20), ...owners.violations, ...callers.violations);
  audited.violations.unshift(...injection.failures);
  const histories: string[] = [];
  for (const violation of audited.violations.slice(0, 8))
    histories.push(await formatHistory(cluster, violation, journal, injection.records));
  await journal.close();
  const seconds = (performance.now() - startedAt) / 1_000;
  const { snapshots } = watched;
  return {
    audited,
    snapshots,
    injection,
    callers: callers.counts,
    owners: owners.counts,
    seconds,
    histories,
    logs: audited.violations.length === 0 ? undefined : keepLogs(cluster.folder, seed),
    failovers,
    recoveredMs,
    copiedReplicas: cluster.database.copiedReplicas(),
  };
}

/** How long the database took. Undefined if it did not recover, which is added to the failures, as are servers that do not. */
async function recover(cluster: ChaosCluster, failures: string[]): Promise<number | undefined> {
  const startedAt = performance.now();
  const describe = (error: unknown): string => (error instanceof Error ? error.message : String(error));
  try {
    await cluster.database.heal();
  } catch (error) {
    failures.push(`the database did not recover: ${describe(error)}`);
    return undefined;
  }
  const recoveredMs = performance.now() - startedAt;
  for (const server of cluster.servers)
    await until(`server ${server.index} is ready`, () => cluster.isReady(server), 90_000).catch((error: unknown) => {
      failures.push(`a server did not recover: ${describe(error)}`);
    });
  return recoveredMs;
}

async function auditUnrecovered(cluster: ChaosCluster, journal: Journal, log: Log): Promise<AuditReport> {
  log("the database did not recover, auditing the data of each node");
  return await auditNodes(cluster, journal);
}

/** Copies the logs and the journal out of the folder of the cluster, which is removed. */
function keepLogs(folder: string, seed: number): string {
  const kept = join(".pennyblack/chaos", String(seed));
  for (const file of globSync("*.{log,jsonl}", { cwd: folder })) cpSync(join(folder, file), join(kept, file));
  return kept;
}

interface Audited {
  cluster: ChaosCluster;
  journal: Journal;
  owners: Owners;
  holdLifetimeMs: number;
  log: Log;
}

async function auditRecovered({ cluster, journal, owners, holdLifetimeMs, log }: Audited): Promise<AuditReport> {
  log("waiting for the worker to expire the holds of killed servers, then auditing");
  const holdsEnded = await until("every hold has ended", () => hasNoHolds(cluster), holdLifetimeMs + 60_000).then(
    () => [],
    (error: unknown) => [String(error)],
  );
  const audited = await audit(cluster.ownerUrl, journal.read());
  audited.violations.push(...holdsEnded, ...(await owners.findLosses(cluster.owner)));
  return audited;
}

interface Wallets {
  owned: readonly TestWallet[];
  pick: (random: Random) => TestWallet;
}

/** Large wallets never run out of money. Small ones do; a few are in use at a time and replaced by new ones. */
async function createWallets(cluster: ChaosCluster, { minutes }: ChaosOptions): Promise<Wallets> {
  async function create(count: number, balance: string): Promise<TestWallet[]> {
    const created: TestWallet[] = [];
    while (created.length < count) created.push(await createTestWallet(cluster, balance));
    return created;
  }
  const large = await create(12, "90000.00");
  const owned = await create(3, "100.00");
  const small = await create(Math.ceil(20 + minutes * 20), "0.60");
  const startedAt = performance.now();
  const msPerSmallWallet = (minutes * 60_000) / (small.length - 10);
  return {
    owned,
    pick(random) {
      if (random.isLucky(0.85)) return random.pick(large);
      const first = Math.min(Math.floor((performance.now() - startedAt) / msPerSmallWallet), small.length - 5);
      return small[first + random.integer(0, 4)] ?? random.pick(small);
    },
  };
}

/** Holds are ended by the worker. */
async function hasNoHolds({ owner }: ChaosCluster): Promise<boolean> {
  return (await owner.query("select from pb.wallets where held_micros > 0 limit 1")).rowCount === 0;
}

interface Running {
  options: ChaosOptions;
  callers: Callers;
  injection: FaultInjection;
  startedAt: number;
  log: Log;
}

async function runUntilComplete({ options, callers, injection, startedAt, log }: Running): Promise<void> {
  const end = performance.now() + options.minutes * 60_000;
  // A short run continues until every kind of fault was injected, within limits.
  const latestEnd = performance.now() + Math.max(options.minutes * 2 * 60_000, 300_000);
  let last = { searches: 0, at: performance.now() };
  const isComplete = (): boolean =>
    performance.now() >= end &&
    callers.counts.searches >= options.searches &&
    (injection.hasRunAll() || performance.now() >= latestEnd);
  while (!isComplete() && injection.failures.length === 0) {
    const left = end - performance.now();
    await wait(left > 0 ? Math.min(5_000, left) : 2_000);
    const { searches, paid } = callers.counts;
    const perSecond = (searches - last.searches) / ((performance.now() - last.at) / 1_000);
    last = { searches, at: performance.now() };
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    log(
      `${String(seconds).padStart(5)} s  ${searches} searches (${Math.round(perSecond)}/s), ${paid} paid, ${injection.extras.get("kills") ?? 0} kills; now: ${injection.running().join(", ")}`,
    );
  }
}

/** Limits the memory of the fake upstream and, in the short form, ages holds. */
function startMaintenance(cluster: ChaosCluster, holdLifetimeMs: number | undefined): { stop: () => Promise<void> } {
  const state = { isOn: true };
  async function run(): Promise<void> {
    while (state.isOn) {
      cluster.upstream.requests.length = 0;
      // The database may be unavailable at this moment.
      if (holdLifetimeMs !== undefined) await cluster.owner.query(ageHolds, [holdLifetimeMs]).catch(() => undefined);
      await wait(500);
    }
  }
  const running = run();
  return {
    async stop() {
      state.isOn = false;
      await running;
    },
  };
}

const ageHolds = `
  update pb.searches set expires_at = clock_timestamp()
  where state = 'pending' and held_at < clock_timestamp() - $1 * interval '1 millisecond'
    and expires_at > clock_timestamp()`;
