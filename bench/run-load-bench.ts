import { randomBytes } from "node:crypto";
import type { Pool } from "../server/src/db/pool.ts";
import { choosePort } from "../server/src/dev/choose-port.ts";
import { formatReport, reconcile } from "../server/src/wallet/wallet.ts";
import { describeMachine } from "./describe-machine.ts";
import { formatNumber, formatTable } from "./format-table.ts";
import { driveOpenLoop, type Shot } from "./open-loop.ts";
import { readCpuMicroseconds } from "./read-cpu.ts";
import type { BenchOptions } from "./read-options.ts";
import { seedWallets } from "./seed-wallets.ts";
import { connectAsOwner, startPostgres } from "./start-postgres.ts";
import { startRedis } from "./start-redis.ts";
import { startTarget, type Target } from "./start-servers.ts";
import { percentile } from "./time-requests.ts";
import type { Workshop } from "./workshop.ts";

/** A constant stream of searches that nobody slows down, then three times what the server can do, then half of it. */
export async function runLoadBench(workshop: Workshop, options: BenchOptions): Promise<Record<string, number>> {
  console.log(describeMachine(workshop.folder));
  console.log(`Load      open loop, an upstream that takes ${options.latencyMs} ms, one server; all on this machine`);
  const postgres = await startPostgres(workshop);
  const owner = connectAsOwner(postgres.urls);
  try {
    const pepper = { version: 1, bytes: randomBytes(32) };
    const redis = await startRedis(workshop);
    const upstreamUrl = await startSlowUpstream(workshop, options.latencyMs);
    const wish = { urls: postgres.urls, redisUrl: redis.url, upstreamUrl, pepper };
    const server = await startTarget(workshop, "billed", wish);
    const wallets = await seedWallets(owner, pepper, 200);
    const drive = new Drive(
      server,
      wallets.map((wallet) => wallet.key),
    );
    await drive.run("warming up", 100, 3);
    const figures: Record<string, number> = {};
    if (options.perSecond > 0) Object.assign(figures, await holdLoad(drive, options));
    if (options.isOverload) Object.assign(figures, await overload(drive, options));
    console.log(`\n${await checkPaid(owner, drive.paid)}`);
    return figures;
  } finally {
    await owner.end();
  }
}

async function startSlowUpstream(workshop: Workshop, latencyMs: number): Promise<string> {
  const port = await choosePort({ host: "127.0.0.1" });
  const args = [new URL("./slow-upstream.ts", import.meta.url).pathname, String(port), String(latencyMs)];
  await workshop.start({ name: "the upstream", program: process.execPath, args, port });
  return `http://127.0.0.1:${port}`;
}

interface Driven {
  offered: number;
  seconds: number;
  shots: Shot[];
  /** Of the server, for each search that was sent. */
  serverUs: number;
}

class Drive {
  readonly #server: Target;
  readonly #keys: readonly string[];
  /** Searches answered 200, of all drives. */
  paid = 0;

  constructor(server: Target, keys: readonly string[]) {
    this.#server = server;
    this.#keys = keys;
  }

  async run(name: string, perSecond: number, seconds: number): Promise<Driven> {
    const shots: Shot[] = [];
    const cpuBefore = readCpuMicroseconds(this.#server.pid);
    const keys = this.#keys;
    const port = Number(new URL(this.#server.url).port);
    const { question } = this.#server;
    await driveOpenLoop({ port, keys, question, perSecond, seconds, onShot: (shot) => shots.push(shot) });
    this.paid += shots.filter(isPaid).length;
    const serverUs = (readCpuMicroseconds(this.#server.pid) - cpuBefore) / shots.length;
    const driven = { offered: perSecond, seconds, shots, serverUs };
    console.error(
      `${name}: ${formatNumber(perSecond)}/s offered, ${formatNumber(paidPerSecond(driven))}/s paid; ${describeStatuses(shots)}`,
    );
    return driven;
  }
}

async function holdLoad(drive: Drive, { perSecond, seconds }: BenchOptions): Promise<Record<string, number>> {
  const driven = await drive.run("held", perSecond, seconds);
  console.log(`\n${report([["held", driven]])}`);
  const { p99 } = times(driven.shots);
  return { held_per_second: paidPerSecond(driven), held_not_paid: countNotPaid(driven), held_p99_ms: p99 };
}

const stepSeconds = 6;

/** The highest rate at which all but one in a hundred are paid. */
async function findCapacity(drive: Drive): Promise<Driven> {
  let best: Driven | undefined;
  for (let perSecond = 100; ; perSecond = Math.round(perSecond * 1.25)) {
    const driven = await drive.run("looking for the capacity", perSecond, stepSeconds);
    const isHeld = countNotPaid(driven) <= driven.shots.length / 100 && times(driven.shots).p99 < 3_000;
    if (!isHeld && best) return best;
    if (!isHeld) throw new Error("this machine cannot hold 100 searches a second");
    best = driven;
  }
}

async function overload(drive: Drive, { overloadSeconds }: BenchOptions): Promise<Record<string, number>> {
  const capacity = await findCapacity(drive);
  const most = paidPerSecond(capacity);
  const flooded = await drive.run("overload", most * 3, overloadSeconds);
  const after = await drive.run("afterwards", most / 2, 10);
  console.log(
    `\n${report([
      ["capacity", capacity],
      ["three times that", flooded],
      ["half of it, right after", after],
    ])}`,
  );
  const refused = flooded.shots.filter((shot) => !isPaid(shot));
  const shed = refused.filter((shot) => shot.status === 503 && shot.hasRetryAfter);
  const lastTrouble = after.shots.findLast((shot) => !isPaid(shot) || shot.tookMs > 2_000);
  const figures = {
    capacity_per_second: most,
    overload_goodput: paidPerSecond(flooded) / most,
    overload_refused: refused.length,
    overload_refused_with_retry_after: shed.length,
    recovery_seconds: lastTrouble ? (lastTrouble.dueMs + lastTrouble.tookMs) / 1_000 : 0,
  };
  console.log(
    `Goodput at three times the capacity: ${Math.round(figures.overload_goodput * 100)} % of it. ` +
      `Refused: ${formatNumber(refused.length)}, of them 503 with Retry-After ${formatNumber(shed.length)}. ` +
      `All well again after ${figures.recovery_seconds.toFixed(1)} s.`,
  );
  return figures;
}

function describeStatuses(shots: readonly Shot[]): string {
  const groups = Object.entries(Object.groupBy(shots, ({ status }) => status));
  return groups.map(([status, group]) => `${status}: ${group?.length ?? 0}`).join(", ");
}

function isPaid({ status }: Shot): boolean {
  return status === 200;
}

function countNotPaid({ shots }: Driven): number {
  return shots.filter((shot) => !isPaid(shot)).length;
}

/** By when the answers came: those that came after the last search was due are nobody's throughput. */
function paidPerSecond({ shots, seconds }: Driven): number {
  return shots.filter((shot) => isPaid(shot) && shot.dueMs + shot.tookMs <= seconds * 1_000).length / seconds;
}

function times(shots: readonly Shot[]): { p50: number; p99: number } {
  const paid = shots.filter(isPaid).map((shot) => shot.tookMs);
  return paid.length === 0 ? { p50: 0, p99: 0 } : { p50: percentile(paid, 50), p99: percentile(paid, 99) };
}

function report(rows: [string, Driven][]): string {
  return formatTable(
    ["", "offered/s", "paid/s", "not paid", "p50 ms", "p99 ms", "refusal p99 ms", "server us"],
    rows.map(([name, driven]) => {
      const { p50, p99 } = times(driven.shots);
      const refusals = driven.shots.filter((shot) => !isPaid(shot)).map((shot) => shot.tookMs);
      const figures = [driven.offered, paidPerSecond(driven), countNotPaid(driven), p50, p99];
      const refusalMs = refusals.length === 0 ? "" : formatNumber(percentile(refusals, 99));
      return [name, ...figures.map(formatNumber), refusalMs, formatNumber(driven.serverUs)];
    }),
  );
}

/** Every 200 was paid once, nothing else was, and nothing is still held. */
async function checkPaid(owner: Pool, paid: number): Promise<string> {
  const { rows } = await owner.query<{ captured: bigint; pending: bigint }>(
    `select count(*) filter (where state = 'captured') as captured, count(*) filter (where state = 'pending') as pending
     from pb.searches`,
  );
  const { captured = 0n, pending = 0n } = rows[0] ?? {};
  if (captured !== BigInt(paid) || pending !== 0n)
    throw new Error(`The bill is wrong: ${paid} answered 200, ${captured} captured, ${pending} still held.`);
  const result = await reconcile(owner);
  if (!result.isClean) throw new Error(`The books are wrong:\n${formatReport(result)}`);
  return `The bill: ${paid} answered 200, ${captured} captured; ${result.checks.length} reconciliation checks clean.`;
}
