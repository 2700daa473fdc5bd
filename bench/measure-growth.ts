import { setTimeout as wait } from "node:timers/promises";
import { createPool, type Pool } from "../server/src/db/pool.ts";
import { readStatement } from "../server/src/wallet/read-statement.ts";
import { createLedger, type Ledger, ledgerConnections } from "../server/src/wallet/wallet.ts";
import { driveLedger } from "./drive-ledger.ts";
import { type NumberedWallet, numberedDigest, numberedWallet } from "./growth-ids.ts";
import type { BenchOptions } from "./read-options.ts";
import type { Growth } from "./seed-growth.ts";
import type { Postgres } from "./start-postgres.ts";
import { summarize } from "./summarize.ts";
import { percentile } from "./time-requests.ts";

/** Medians over the rounds. */
export interface Drive {
  perSecond: number;
  /** CPU of PostgreSQL for one search, in microseconds. */
  postgresUs: number;
  /** Log written for one search, in bytes. */
  walBytes: number;
}

export interface Measured {
  /** Every search another wallet out of all of them, and all of one wallet. */
  everyone: Drive;
  oneWallet: Drive;
  /** The same as the first without full-page images, which depend on how long ago the last checkpoint was. */
  withoutImages: Drive;
  keyMs: number;
  entriesMs: number;
  autovacuums: number;
  /** Searches charged, warm-ups included. */
  answered: number;
}

interface Bench {
  admin: Pool;
  ledger: Ledger;
  postgres: Postgres;
  options: BenchOptions;
  answered: number;
}

type Pick = () => NumberedWallet;

/** What a search costs in a ledger of this size. */
export async function measureGrowth(postgres: Postgres, growth: Growth, options: BenchOptions): Promise<Measured> {
  const connect = (url: string, connections: number): Pool =>
    createPool({
      url,
      name: "pennyblack bench",
      connections,
      statementTimeoutMs: 600_000,
      onIdleError: () => undefined,
    });
  const admin = connect(postgres.adminUrl, 1);
  const ledgerPool = connect(postgres.urls.ledger, ledgerConnections);
  const tenant = connect(postgres.urls.tenant, 1);
  const bench: Bench = { admin, ledger: createLedger(ledgerPool), postgres, options, answered: 0 };
  const anyone: Pick = () => numberedWallet(pickNumber(growth));
  const one = anyone();
  try {
    const vacuumsBefore = await countAutovacuums(admin);
    await admin.query("checkpoint");
    await driveRound(bench, anyone, options.warmUpSeconds);
    const everyone = await driveRounds(bench, anyone);
    const oneWallet = await driveRounds(bench, () => one);
    await setFullPageWrites(admin, false);
    // Right after it every page would be due: an image that is still written would be seen.
    await admin.query("checkpoint");
    const withoutImages = await driveRounds(bench, anyone);
    await setFullPageWrites(admin, true);
    return {
      everyone,
      oneWallet,
      withoutImages,
      keyMs: await timeMedian(options.requests, () => lookUpKey(ledgerPool, pickNumber(growth))),
      entriesMs: await timeMedian(options.requests, () => readStatement(tenant, anyone().walletId, { most: 20 })),
      autovacuums: (await countAutovacuums(admin)) - vacuumsBefore,
      answered: bench.answered,
    };
  } finally {
    await Promise.all([admin, ledgerPool, tenant].map((pool) => pool.end()));
  }
}

function pickNumber({ wallets }: Growth): number {
  return Math.floor(Math.random() * wallets);
}

async function driveRounds(bench: Bench, pick: Pick): Promise<Drive> {
  const rounds: Drive[] = [];
  for (let round = 0; round < bench.options.rounds; round += 1) {
    rounds.push(await driveRound(bench, pick, bench.options.seconds));
  }
  const median = (name: keyof Drive): number => summarize(rounds.map((round) => round[name])).median;
  return { perSecond: median("perSecond"), postgresUs: median("postgresUs"), walBytes: median("walBytes") };
}

async function driveRound(bench: Bench, pick: Pick, seconds: number): Promise<Drive> {
  const { admin, ledger, postgres, options } = bench;
  const before = await readWalPosition(admin);
  const round = await driveLedger({ ledger, loops: options.loops, pick, seconds, postgresPid: postgres.pid });
  bench.answered += round.searches;
  const written = Number((await readWalPosition(admin)) - before);
  return { perSecond: round.perSecond, postgresUs: round.postgresUs, walBytes: written / round.searches };
}

/** Not pg_stat_wal: backends report to it when they have time. */
async function readWalPosition(admin: Pool): Promise<bigint> {
  const { rows } = await admin.query<{ at: bigint }>("select (pg_current_wal_insert_lsn() - '0/0')::bigint as at");
  return rows[0]?.at ?? 0n;
}

async function setFullPageWrites(admin: Pool, isOn: boolean): Promise<void> {
  await admin.query(`alter system set full_page_writes = ${isOn ? "on" : "off"}`);
  await admin.query("select pg_reload_conf()");
  // The checkpointer passes it on; nothing tells when it has.
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
    name: "look_up_keys",
    text: "select * from pb.look_up_keys($1)",
    values: [[numberedDigest(number)]],
  });
  if (rows.length !== 1) throw new Error(`key ${number} is not there`);
}

/** One after the other, in milliseconds. */
async function timeMedian(times: number, ask: () => Promise<unknown>): Promise<number> {
  const took: number[] = [];
  for (let time = 0; time < times; time += 1) {
    const began = performance.now();
    await ask();
    took.push(performance.now() - began);
  }
  return percentile(took, 50);
}
