import { setTimeout as wait } from "node:timers/promises";
import type { Pool } from "../server/src/db/pool.ts";
import { readStatement } from "../server/src/wallet/reads/read-statement.ts";
import { createLedger, type Ledger, ledgerConnections } from "../server/src/wallet/wallet.ts";
import { driveLedger } from "./drive-ledger.ts";
import { type NumberedWallet, numberedDigest, numberedWallet } from "./growth-ids.ts";
import type { BenchOptions } from "./read-options.ts";
import type { Growth } from "./seed-growth.ts";
import { connect, type Postgres } from "./start-postgres.ts";
import { percentile, summarize } from "./summarize.ts";

/** Medians over the rounds. */
export interface LoadResult {
  perSecond: number;
  /** PostgreSQL CPU time per search, in microseconds. */
  postgresUs: number;
  /** WAL bytes per search. */
  walBytes: number;
}

export interface GrowthResult {
  /** A random wallet for each search, and one wallet for all searches. */
  allWallets: LoadResult;
  oneWallet: LoadResult;
  /** Like `allWallets` without full-page images, whose number depends on the time since the last checkpoint. */
  withoutImages: LoadResult;
  keyMs: number;
  entriesMs: number;
  autovacuums: number;
  /** Searches charged, including warm-up. */
  answered: number;
}

interface GrowthContext {
  admin: Pool;
  ledger: Ledger;
  postgres: Postgres;
  options: BenchOptions;
  answered: number;
}

type Pick = () => NumberedWallet;

/** Measures the cost of a search in a ledger of this size. */
export async function measureGrowth(postgres: Postgres, growth: Growth, options: BenchOptions): Promise<GrowthResult> {
  const admin = connect(postgres.adminUrl, 1);
  const ledgerPool = connect(postgres.urls.ledger, ledgerConnections);
  const tenant = connect(postgres.urls.tenant, 1);
  const context: GrowthContext = { admin, ledger: createLedger(ledgerPool), postgres, options, answered: 0 };
  const pickAny: Pick = () => numberedWallet(pickNumber(growth));
  const fixedWallet = pickAny();
  try {
    const vacuumsBefore = await countAutovacuums(admin);
    await admin.query("checkpoint");
    await driveRound(context, pickAny, options.warmUpSeconds);
    const allWallets = await driveRounds(context, pickAny);
    const oneWallet = await driveRounds(context, () => fixedWallet);
    await setFullPageWrites(admin, false);
    // After a checkpoint every changed page would need an image, so any image still written shows up in the result.
    await admin.query("checkpoint");
    const withoutImages = await driveRounds(context, pickAny);
    await setFullPageWrites(admin, true);
    return {
      allWallets,
      oneWallet,
      withoutImages,
      keyMs: await timeMedian(options.requests, () => lookUpKey(ledgerPool, pickNumber(growth))),
      entriesMs: await timeMedian(options.requests, () => readStatement(tenant, pickAny().walletId, { limit: 20 })),
      autovacuums: (await countAutovacuums(admin)) - vacuumsBefore,
      answered: context.answered,
    };
  } finally {
    await Promise.all([admin, ledgerPool, tenant].map((pool) => pool.end()));
  }
}

function pickNumber({ wallets }: Growth): number {
  return Math.floor(Math.random() * wallets);
}

async function driveRounds(context: GrowthContext, pick: Pick): Promise<LoadResult> {
  const rounds: LoadResult[] = [];
  for (let round = 0; round < context.options.rounds; round += 1) {
    rounds.push(await driveRound(context, pick, context.options.seconds));
  }
  const median = (name: keyof LoadResult): number => summarize(rounds.map((round) => round[name])).median;
  return { perSecond: median("perSecond"), postgresUs: median("postgresUs"), walBytes: median("walBytes") };
}

async function driveRound(context: GrowthContext, pick: Pick, seconds: number): Promise<LoadResult> {
  const { admin, ledger, postgres, options } = context;
  const before = await readWalPosition(admin);
  const round = await driveLedger({ ledger, loops: options.loops, pick, seconds, postgresPid: postgres.pid });
  context.answered += round.searches;
  const writtenBytes = Number((await readWalPosition(admin)) - before);
  return { perSecond: round.perSecond, postgresUs: round.postgresUs, walBytes: writtenBytes / round.searches };
}

/** Does not use pg_stat_wal, because backends report to it with a delay. */
async function readWalPosition(admin: Pool): Promise<bigint> {
  const { rows } = await admin.query<{ at: bigint }>("select (pg_current_wal_insert_lsn() - '0/0')::bigint as at");
  return rows[0]?.at ?? 0n;
}

async function setFullPageWrites(admin: Pool, isOn: boolean): Promise<void> {
  await admin.query(`alter system set full_page_writes = ${isOn ? "on" : "off"}`);
  await admin.query("select pg_reload_conf()");
  // The checkpointer applies the setting, and there is no way to wait for it.
  await wait(1_000);
}

async function countAutovacuums(admin: Pool): Promise<number> {
  const { rows } = await admin.query<{ count: bigint }>(
    "select sum(autovacuum_count + autoanalyze_count)::bigint as count from pg_stat_user_tables",
  );
  return Number(rows[0]?.count ?? 0n);
}

async function lookUpKey(ledgerPool: Pool, number: number): Promise<void> {
  const { rows } = await ledgerPool.query({
    name: "find_principals",
    text: "select * from pb.find_principals($1)",
    values: [[numberedDigest(number)]],
  });
  if (rows.length !== 1) throw new Error(`key ${number} not found`);
}

/** The median duration of sequential calls, in milliseconds. */
async function timeMedian(count: number, query: () => Promise<unknown>): Promise<number> {
  const durationsMs: number[] = [];
  for (let time = 0; time < count; time += 1) {
    const startMs = performance.now();
    await query();
    durationsMs.push(performance.now() - startMs);
  }
  return percentile(durationsMs, 50);
}
