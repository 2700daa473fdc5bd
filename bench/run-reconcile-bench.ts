import { totalmem } from "node:os";
import { createPool, type Pool } from "../server/src/db/pool.ts";
import { closeHours } from "../server/src/wallet/upkeep/close-hours.ts";
import { formatReport, type ReconcileReport, reconcile } from "../server/src/wallet/upkeep/reconcile.ts";
import { reconcileHours } from "../server/src/wallet/upkeep/reconcile-hours.ts";
import { createLedger, ledgerConnections } from "../server/src/wallet/wallet.ts";
import { describeMachine } from "./describe-machine.ts";
import { driveLedger } from "./drive-ledger.ts";
import { formatNumber, formatTable } from "./format-table.ts";
import { numberedWallet } from "./growth-ids.ts";
import type { Harness } from "./harness.ts";
import type { BenchOptions } from "./read-options.ts";
import { type Growth, seedGrowth, seedingSettings } from "./seed-growth.ts";
import { connect, type Postgres, startPostgres } from "./start-postgres.ts";
import { summarize, summarizeRatio } from "./summarize.ts";

// More loops would saturate two cores, and the ratio would show the number of cores.
const loops = 4;
const memory = `shared_buffers=${Math.floor(totalmem() / 4 / 2 ** 20)}MB`;

interface Step {
  searches: number;
  loadSeconds: number;
  usageSeconds: number;
  hours: number;
  /** Median over the hours with entries. */
  closeHourSeconds: number;
  closeAllSeconds: number;
  hourlySeconds: number;
  fullSeconds: number;
  /** Milliseconds per hold and capture on one wallet, without and during the hourly pass. */
  quietMs: number;
  busyMs: number;
  slowdown: number;
}

/** Measures the hourly and the full reconciliation of a ledger of two sizes, and a hot wallet meanwhile. */
export async function runReconcileBench(harness: Harness, options: BenchOptions): Promise<Record<string, number>> {
  console.log(describeMachine(harness.folder));
  let postgres = await startPostgres(harness, [memory, ...seedingSettings]);
  console.log(`Postgres  ${postgres.version} ${postgres.settings}`);
  const steps: Step[] = [];
  for (const searches of [Math.ceil(options.searches / 10), options.searches]) {
    const wallets = Math.min(10_000, Math.ceil(searches / 100));
    const rows = Math.ceil(searches / wallets) * wallets + wallets;
    const growth = { wallets, rows, days: daysOf(searches), isEven: true, hasWindows: true };
    const startMs = performance.now();
    await resetHours(postgres.adminUrl);
    await seedGrowth(postgres.adminUrl, growth);
    const loadSeconds = secondsSince(startMs);
    const usageMs = performance.now();
    await countUsage(postgres.adminUrl);
    const usageSeconds = secondsSince(usageMs);
    postgres = await postgres.restart([memory]);
    // Otherwise pending writes from seeding would be flushed during the measurement.
    await harness.run("sync", []);
    steps.push({ ...(await measureStep(postgres, growth, options)), loadSeconds, usageSeconds });
    console.log(reportStep(steps.at(-1) as Step));
    postgres = await postgres.restart([memory, ...seedingSettings]);
  }
  return reportSteps(steps);
}

/** Closing an empty hour costs as much as closing a small one, so small ledgers are short. */
function daysOf(searches: number): number {
  if (searches < 10_000) return 2;
  return searches < 10_000_000 ? 5 : 30;
}

async function resetHours(adminUrl: string): Promise<void> {
  const admin = connect(adminUrl, 1);
  try {
    await admin.query(
      `set session_replication_role = replica;
       truncate pb.ledger_days, pb.hour_trees, pb.ledger_hours, pb.wallet_hours, pb.wallet_checkpoints, pb.window_checkpoints,
         pb.usage_hours, pb.usage_days;
       update pb.ledger_watermark set closed_before = '-infinity', closing_before = null, closing_xid = null`,
    );
  } finally {
    await admin.end();
  }
}

/** A day per statement, because nothing else runs. */
async function countUsage(adminUrl: string): Promise<void> {
  const admin = connect(adminUrl, 1);
  try {
    for (let isDone = false; !isDone; ) {
      const { rows } = await admin.query<{ is_done: boolean }>("select is_done from pb.roll_up_usage('1 day')");
      isDone = rows[0]?.is_done ?? true;
    }
  } finally {
    await admin.end();
  }
}

async function measureStep(
  postgres: Postgres,
  { wallets, rows }: Growth,
  options: BenchOptions,
): Promise<Omit<Step, "loadSeconds" | "usageSeconds">> {
  const owner = createPool({
    url: postgres.urls.owner,
    name: "pennyblack bench",
    connections: 2,
    statementTimeoutMs: 6 * 3_600_000,
    onIdleError: () => undefined,
  });
  try {
    const closed = await closeAll(owner);
    await owner.query("analyze");
    const hourlySeconds = await timeRounds(options.rounds, () => runHourly(owner));
    const hot = await measureHotWallet(postgres, owner, options);
    const fullMs = performance.now();
    assertClean(await reconcile(owner));
    return {
      searches: rows - wallets,
      ...closed,
      hourlySeconds,
      ...hot,
      fullSeconds: secondsSince(fullMs),
    };
  } finally {
    await owner.end();
  }
}

async function closeAll(owner: Pool): Promise<Pick<Step, "hours" | "closeHourSeconds" | "closeAllSeconds">> {
  const startMs = performance.now();
  let lastMs = startMs;
  const durations: number[] = [];
  const { state, closed } = await closeHours(owner, {
    onClosed: ({ entries }) => {
      if (entries > 0) durations.push(secondsSince(lastMs));
      lastMs = performance.now();
    },
  });
  if (state !== "open") throw new Error(`an hour was not closed: ${state}`);
  return {
    hours: closed.length,
    closeHourSeconds: summarize(durations).median,
    closeAllSeconds: secondsSince(startMs),
  };
}

async function runHourly(owner: Pool): Promise<void> {
  assertClean(await reconcileHours(owner));
}

function assertClean(report: ReconcileReport | undefined): void {
  if (!report?.isClean) throw new Error(report ? formatReport(report) : "another run is active");
}

/** Rounds without and with hourly passes one after the other, alternating. */
async function measureHotWallet(
  postgres: Postgres,
  owner: Pool,
  options: BenchOptions,
): Promise<Pick<Step, "quietMs" | "busyMs" | "slowdown">> {
  const pool = connect(postgres.urls.ledger, ledgerConnections);
  const ledger = createLedger(pool);
  const hot = numberedWallet(0);
  const drive = async (): Promise<number> => {
    const { perSecond } = await driveLedger({
      ledger,
      loops,
      pick: () => hot,
      seconds: options.seconds,
      postgresPid: postgres.pid,
    });
    return (loops * 1_000) / perSecond;
  };
  const quiet: number[] = [];
  const busy: number[] = [];
  try {
    await drive();
    for (let round = 0; round < options.rounds; round += 1) {
      quiet.push(await drive());
      busy.push(await whileReconciling(owner, drive));
    }
  } finally {
    await pool.end();
  }
  return {
    quietMs: summarize(quiet).median,
    busyMs: summarize(busy).median,
    slowdown: summarizeRatio({ over: busy, under: quiet }).median,
  };
}

async function whileReconciling(owner: Pool, drive: () => Promise<number>): Promise<number> {
  let isDone = false;
  const driving = drive().finally(() => {
    isDone = true;
  });
  for (;;) {
    if (isDone) return driving;
    await runHourly(owner);
  }
}

async function timeRounds(rounds: number, work: () => Promise<void>): Promise<number> {
  const durations: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const startMs = performance.now();
    await work();
    durations.push(secondsSince(startMs));
  }
  return summarize(durations).median;
}

function secondsSince(startMs: number): number {
  return (performance.now() - startMs) / 1_000;
}

function reportStep(step: Step): string {
  const rows = [
    ["load", step.loadSeconds],
    ["usage roll-up of all hours", step.usageSeconds],
    [`closing all ${formatNumber(step.hours)} hours`, step.closeAllSeconds],
    ["closing one hour (median)", step.closeHourSeconds],
    ["hourly pass (median)", step.hourlySeconds],
    ["full pass", step.fullSeconds],
  ] as const;
  return `\n${formatTable(
    [`${formatNumber(step.searches)} searches`, "seconds"],
    rows.map(([name, seconds]) => [name, seconds.toFixed(2)]),
  )}
hold and capture on one wallet, ${loops} loops: ${step.quietMs.toFixed(2)} ms, during hourly passes ${step.busyMs.toFixed(2)} ms, ratio ${step.slowdown.toFixed(2)}`;
}

function reportSteps([small, large]: Step[]): Record<string, number> {
  if (!small || !large) throw new Error("no measurements");
  const slope = (name: "hourlySeconds" | "fullSeconds"): number =>
    (large[name] - small[name]) / ((large.searches - small.searches) / 1e6);
  console.log(
    `\nSeconds per additional million searches: hourly pass ${slope("hourlySeconds").toFixed(3)}, full pass ${slope("fullSeconds").toFixed(3)}`,
  );
  return {
    searches: large.searches,
    close_hour_s: large.closeHourSeconds,
    hourly_s: large.hourlySeconds,
    hourly_s_per_million: slope("hourlySeconds"),
    hot_wallet_slowdown: large.slowdown,
    full_s: large.fullSeconds,
  };
}
