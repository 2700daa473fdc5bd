import { randomBytes } from "node:crypto";
import { createPool, type Pool } from "../server/src/db/pool.ts";
import { createLedger, type Ledger, ledgerConnections } from "../server/src/wallet/wallet.ts";
import { checkBill } from "./check-bill.ts";
import { describeMachine } from "./describe-machine.ts";
import { driveLedger, type LedgerRound } from "./drive-ledger.ts";
import { formatNumber, formatTable } from "./format-table.ts";
import { inTurn } from "./in-turn.ts";
import { createLedger as createNaiveLedger } from "./naive-ledger.ts";
import { Pgbench, wholeSeconds } from "./pgbench.ts";
import type { BenchOptions } from "./read-options.ts";
import { type SeededWallet, seedWallets } from "./seed-wallets.ts";
import { connectAsOwner, type Postgres, startPostgres } from "./start-postgres.ts";
import { summarize, summarizeRatio } from "./summarize.ts";
import type { Workshop } from "./workshop.ts";

const naiveClients = 16;
const pepper = { version: 1, bytes: randomBytes(32) };

interface Contender {
  name: string;
  rounds: LedgerRound[];
  drive(seconds: number): Promise<LedgerRound>;
}

/** Hold and capture alone, on one wallet: our batches against the same from pgbench and one transaction per step. */
export async function runLedgerBench(workshop: Workshop, options: BenchOptions): Promise<Record<string, number>> {
  console.log(describeMachine(workshop.folder));
  const postgres = await startPostgres(workshop);
  console.log(`Postgres  ${postgres.version} ${postgres.settings}\n`);
  const owner = connectAsOwner(postgres.urls);
  const pools = [ledgerConnections, naiveClients].map((connections) => connect(postgres, connections)) as [Pool, Pool];
  try {
    const [wallet] = await seedWallets(owner, pepper, 1);
    if (wallet === undefined) throw new Error("no wallet was made");
    const sizes = { batches: 0, searches: 0 };
    const onBatch = (_kind: unknown, searches: readonly unknown[]): undefined => {
      sizes.batches += 1;
      sizes.searches += searches.length;
    };
    const batched = contend("batched", createLedger(pools[0], { onBatch }), options.loops, wallet, postgres);
    const naive = contend("naive", createNaiveLedger(pools[1]), naiveClients, wallet, postgres);
    let answered = (await batched.drive(options.warmUpSeconds)).searches;
    const pgbench = await Pgbench.prepare({
      workshop,
      postgres,
      owner,
      wallet,
      perBatch: Math.max(1, Math.round(sizes.searches / sizes.batches)),
      mostSeconds: wholeSeconds(options.warmUpSeconds) + options.rounds * wholeSeconds(options.seconds),
    });
    const contenders = [batched, pgbench, naive];
    answered += await measure(contenders, options);
    const bill = await checkBill(owner, answered);
    return report(contenders, bill);
  } finally {
    await Promise.all([owner, ...pools].map((pool) => pool.end()));
  }
}

function connect(postgres: Postgres, connections: number): Pool {
  return createPool({ url: postgres.urls.ledger, name: "pennyblack bench", connections, onIdleError: () => undefined });
}

/** Says how many searches were captured, warm-ups included. */
async function measure(
  contenders: readonly Contender[],
  { rounds, seconds, warmUpSeconds }: BenchOptions,
): Promise<number> {
  let answered = 0;
  for (let round = 0; round <= rounds; round += 1) {
    const isWarmUp = round === 0;
    for (const contender of inTurn(contenders, round)) {
      const done = await contender.drive(isWarmUp ? warmUpSeconds : seconds);
      answered += done.searches;
      if (!isWarmUp) contender.rounds.push(done);
    }
    if (isWarmUp) continue;
    const rates = contenders.map((each) => `${each.name} ${formatNumber(each.rounds.at(-1)?.perSecond ?? 0)}/s`);
    console.error(`round ${round} of ${rounds}: ${rates.join(", ")}`);
  }
  return answered;
}

function contend(name: string, ledger: Ledger, loops: number, wallet: SeededWallet, { pid }: Postgres): Contender {
  return {
    name: `${name}, ${loops} at once`,
    rounds: [],
    drive: (seconds) => driveLedger({ ledger, loops, pick: () => wallet, seconds, postgresPid: pid }),
  };
}

function report(contenders: readonly Contender[], bill: string): Record<string, number> {
  const rates = (contender: Contender | undefined): number[] => contender?.rounds.map((round) => round.perSecond) ?? [];
  const cpu = (contender: Contender | undefined): number =>
    summarize(contender?.rounds.map((round) => round.postgresUs) ?? []).median;
  const rows = contenders.map((contender) => {
    const rate = summarize(rates(contender));
    const spread = `${formatNumber(rate.least)}..${formatNumber(rate.most)}`;
    return [contender.name, formatNumber(rate.median), spread, formatNumber(cpu(contender))];
  });
  const [batched, pgbench, naive] = contenders;
  const overPgbench = summarizeRatio({ over: rates(batched), under: rates(pgbench) });
  const overNaive = summarizeRatio({ over: rates(batched), under: rates(naive) });
  console.log(formatTable(["one wallet", "hold+capture/s", "min..max", "PostgreSQL us each"], rows));
  for (const [name, { median, least, most }] of Object.entries({ pgbench: overPgbench, naive: overNaive }))
    console.log(`batched over ${name}: ${median.toFixed(2)} (${least.toFixed(2)}..${most.toFixed(2)})`);
  console.log(bill);
  return {
    hold_capture_per_s: Math.round(summarize(rates(batched)).median),
    over_pgbench: Number(overPgbench.median.toFixed(3)),
    over_naive: Number(overNaive.median.toFixed(2)),
    postgres_cpu_us: Number(cpu(batched).toFixed(1)),
  };
}
