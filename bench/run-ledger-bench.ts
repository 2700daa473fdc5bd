import { randomBytes } from "node:crypto";
import { createPool, type Pool, type PoolOptions } from "../server/src/db/pool.ts";
import { createLedger, type Ledger, ledgerConnections } from "../server/src/wallet/wallet.ts";
import { checkCharges } from "./check-charges.ts";
import { compareLedgers } from "./compare-ledgers.ts";
import { describeMachine } from "./describe-machine.ts";
import { driveLedger, type LedgerRound } from "./drive-ledger.ts";
import { formatNumber, formatTable } from "./format-table.ts";
import type { Harness } from "./harness.ts";
import { createLedger as createNaiveLedger } from "./naive-ledger.ts";
import { Pgbench, wholeSeconds } from "./pgbench.ts";
import type { BenchOptions } from "./read-options.ts";
import { rotate } from "./rotate.ts";
import { type SeededWallet, seedWallets } from "./seed-wallets.ts";
import { connectAsOwner, type Postgres, startPostgres } from "./start-postgres.ts";
import { formatSpread, summarize, summarizeRatio } from "./summarize.ts";

const naiveClients = 16;
const pepper = { version: 1, bytes: randomBytes(32) };

interface Variant {
  name: string;
  rounds: LedgerRound[];
  drive(seconds: number): Promise<LedgerRound>;
}

/**
 * Hold and capture on one wallet: batched, from pgbench with the same batches, with one transaction per step, and batched
 * without named statements, as behind a transaction pooler.
 */
export async function runLedgerBench(harness: Harness, options: BenchOptions): Promise<Record<string, number>> {
  console.log(describeMachine(harness.folder));
  const postgres = await startPostgres(harness);
  console.log(`Postgres  ${postgres.version} ${postgres.settings}\n`);
  if (options.beforeFolder !== undefined) return compareLedgers(postgres, options);
  const owner = connectAsOwner(postgres.urls);
  const pools = {
    batched: connect(postgres, { connections: ledgerConnections, isForSingleStatements: true }),
    naive: connect(postgres, { connections: naiveClients }),
    unnamed: connect(postgres, {
      connections: ledgerConnections,
      isForSingleStatements: true,
      pooler: "transaction",
    }),
  };
  try {
    const [wallet] = await seedWallets(owner, pepper, 1);
    if (wallet === undefined) throw new Error("no wallet seeded");
    const sizes = { batches: 0, searches: 0 };
    const onBatch = (_kind: unknown, searches: readonly unknown[]): undefined => {
      sizes.batches += 1;
      sizes.searches += searches.length;
    };
    const batched = createVariant("batched", createLedger(pools.batched, { onBatch }), options.loops, wallet, postgres);
    const naive = createVariant("naive", createNaiveLedger(pools.naive), naiveClients, wallet, postgres);
    const unnamed = createVariant("unnamed", createLedger(pools.unnamed), options.loops, wallet, postgres);
    let answered = (await batched.drive(options.warmUpSeconds)).searches;
    const pgbench = await Pgbench.prepare({
      harness,
      postgres,
      owner,
      wallet,
      perBatch: Math.max(1, Math.round(sizes.searches / sizes.batches)),
      maxSeconds: wholeSeconds(options.warmUpSeconds) + options.rounds * wholeSeconds(options.seconds),
    });
    const variants = [batched, pgbench, naive, unnamed];
    answered += await measure(variants, options);
    const charges = await checkCharges(owner, answered);
    return report(variants, charges);
  } finally {
    await Promise.all([owner, ...Object.values(pools)].map((pool) => pool.end()));
  }
}

function connect(postgres: Postgres, options: Partial<PoolOptions> & Pick<PoolOptions, "connections">): Pool {
  const onIdleError = (): undefined => undefined;
  return createPool({ url: postgres.urls.ledger, name: "pennyblack bench", onIdleError, ...options });
}

/** Returns the number of captured searches, including warm-up. */
async function measure(
  variants: readonly Variant[],
  { rounds, seconds, warmUpSeconds }: BenchOptions,
): Promise<number> {
  let answered = 0;
  for (let round = 0; round <= rounds; round += 1) {
    const isWarmUp = round === 0;
    for (const variant of rotate(variants, round)) {
      const done = await variant.drive(isWarmUp ? warmUpSeconds : seconds);
      answered += done.searches;
      if (!isWarmUp) variant.rounds.push(done);
    }
    if (isWarmUp) continue;
    const rates = variants.map((each) => `${each.name} ${formatNumber(each.rounds.at(-1)?.perSecond ?? 0)}/s`);
    console.error(`round ${round} of ${rounds}: ${rates.join(", ")}`);
  }
  return answered;
}

function createVariant(name: string, ledger: Ledger, loops: number, wallet: SeededWallet, { pid }: Postgres): Variant {
  return {
    name: `${name}, ${loops} concurrent`,
    rounds: [],
    drive: (seconds) => driveLedger({ ledger, loops, pick: () => wallet, seconds, postgresPid: pid }),
  };
}

function report(variants: readonly Variant[], charges: string): Record<string, number> {
  const rates = (variant: Variant | undefined): number[] => variant?.rounds.map((round) => round.perSecond) ?? [];
  const cpu = (variant: Variant | undefined): number =>
    summarize(variant?.rounds.map((round) => round.postgresUs) ?? []).median;
  const rows = variants.map((variant) => {
    const rate = summarize(rates(variant));
    const spread = `${formatNumber(rate.min)}..${formatNumber(rate.max)}`;
    return [variant.name, formatNumber(rate.median), spread, formatNumber(cpu(variant))];
  });
  const [batched, pgbench, naive, unnamed] = variants;
  const overPgbench = summarizeRatio({ over: rates(batched), under: rates(pgbench) });
  const overNaive = summarizeRatio({ over: rates(batched), under: rates(naive) });
  const overUnnamed = summarizeRatio({ over: rates(batched), under: rates(unnamed) });
  console.log(formatTable(["one wallet", "hold+capture/s", "min..max", "PostgreSQL us"], rows));
  const ratios = { pgbench: overPgbench, naive: overNaive, unnamed: overUnnamed };
  for (const [name, ratio] of Object.entries(ratios)) console.log(`batched / ${name}: ${formatSpread(ratio)}`);
  console.log(charges);
  return {
    hold_capture_per_s: Math.round(summarize(rates(batched)).median),
    over_pgbench: Number(overPgbench.median.toFixed(3)),
    over_naive: Number(overNaive.median.toFixed(2)),
    over_unnamed: Number(overUnnamed.median.toFixed(2)),
    postgres_cpu_us: Number(cpu(batched).toFixed(1)),
  };
}
