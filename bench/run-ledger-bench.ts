import { randomBytes, randomUUIDv7 } from "node:crypto";
import { createPool, type Pool } from "../server/src/db/pool.ts";
import { createLedger, type Ledger, ledgerConnections } from "../server/src/wallet/wallet.ts";
import { checkBill } from "./check-bill.ts";
import { describeMachine } from "./describe-machine.ts";
import { formatNumber, formatTable } from "./format-table.ts";
import { createLedger as createNaiveLedger } from "./naive-ledger.ts";
import { readFamilyCpuMicroseconds } from "./read-cpu.ts";
import type { BenchOptions } from "./read-options.ts";
import { type SeededWallet, seedWallets } from "./seed-wallets.ts";
import { connectAsOwner, type Postgres, startPostgres } from "./start-postgres.ts";
import { summarize, summarizeRatio } from "./summarize.ts";
import type { Workshop } from "./workshop.ts";

const naiveClients = 16;
const pepper = { version: 1, bytes: randomBytes(32) };

interface Round {
  searches: number;
  perSecond: number;
  postgresUs: number;
}

interface Contender {
  ledger: Ledger;
  loops: number;
  rounds: Round[];
}

/** Hold and capture alone, on one wallet: batches against one transaction per step, round by round. */
export async function runLedgerBench(workshop: Workshop, options: BenchOptions): Promise<Record<string, number>> {
  console.log(describeMachine(workshop.folder));
  const postgres = await startPostgres(workshop);
  console.log(`Postgres  ${postgres.version} ${postgres.settings}\n`);
  const owner = connectAsOwner(postgres.urls);
  const pools = [ledgerConnections, naiveClients].map((connections) => connect(postgres, connections)) as [Pool, Pool];
  try {
    const [wallet] = await seedWallets(owner, pepper, 1);
    if (wallet === undefined) throw new Error("no wallet was made");
    const batched: Contender = { ledger: createLedger(pools[0]), loops: options.loops, rounds: [] };
    const naive: Contender = { ledger: createNaiveLedger(pools[1]), loops: naiveClients, rounds: [] };
    const answered = await measure({ batched, naive, wallet, postgres, options });
    const bill = await checkBill(owner, answered);
    return report(batched, naive, bill);
  } finally {
    await Promise.all([owner, ...pools].map((pool) => pool.end()));
  }
}

function connect(postgres: Postgres, connections: number): Pool {
  return createPool({ url: postgres.urls.ledger, name: "pennyblack bench", connections, onIdleError: () => undefined });
}

interface Measurement {
  batched: Contender;
  naive: Contender;
  wallet: SeededWallet;
  postgres: Postgres;
  options: BenchOptions;
}

/** Says how many searches were captured, warm-ups included. */
async function measure({ batched, naive, wallet, postgres, options }: Measurement): Promise<number> {
  let answered = 0;
  for (let round = 0; round <= options.rounds; round += 1) {
    const isWarmUp = round === 0;
    const seconds = isWarmUp ? options.warmUpSeconds : options.seconds;
    for (const contender of round % 2 === 0 ? [batched, naive] : [naive, batched]) {
      const done = await driveLedger(contender, { wallet, seconds, postgresPid: postgres.pid });
      answered += done.searches;
      if (!isWarmUp) contender.rounds.push(done);
    }
    if (!isWarmUp) {
      const [ours, theirs] = [batched, naive].map((each) => formatNumber(each.rounds.at(-1)?.perSecond ?? 0));
      console.error(`round ${round} of ${options.rounds}: batched ${ours}/s, naive ${theirs}/s`);
    }
  }
  return answered;
}

interface LedgerDrive {
  wallet: SeededWallet;
  seconds: number;
  postgresPid: number;
}

async function driveLedger({ ledger, loops }: Contender, drive: LedgerDrive): Promise<Round> {
  const cpuBefore = readFamilyCpuMicroseconds(drive.postgresPid);
  const beganMs = performance.now();
  const endMs = beganMs + drive.seconds * 1_000;
  let searches = 0;

  async function loop(): Promise<void> {
    const { walletId, keyId } = drive.wallet;
    while (performance.now() < endMs) {
      const searchId = randomUUIDv7();
      const held = await ledger.hold({ searchId, walletId, keyId });
      if (held.outcome !== "held") throw new Error(`a hold was refused: ${held.outcome}`);
      const paid = await ledger.capture({ searchId, walletId });
      if (paid.state !== "captured") throw new Error(`a capture came to nothing: ${paid.state}`);
      searches += 1;
    }
  }

  await Promise.all(Array.from({ length: loops }, loop));
  const tookSeconds = (performance.now() - beganMs) / 1_000;
  const postgresUs = (readFamilyCpuMicroseconds(drive.postgresPid) - cpuBefore) / searches;
  return { searches, perSecond: searches / tookSeconds, postgresUs };
}

function report(batched: Contender, naive: Contender, bill: string): Record<string, number> {
  const rates = (contender: Contender): number[] => contender.rounds.map((round) => round.perSecond);
  const cpu = (contender: Contender): number => summarize(contender.rounds.map((round) => round.postgresUs)).median;
  const rows = [
    { name: `batched, ${batched.loops} loops`, contender: batched },
    { name: `naive, ${naive.loops} clients`, contender: naive },
  ].map(({ name, contender }) => {
    const rate = summarize(rates(contender));
    const spread = `${formatNumber(rate.least)}..${formatNumber(rate.most)}`;
    return [name, formatNumber(rate.median), spread, formatNumber(cpu(contender))];
  });
  const ratio = summarizeRatio({ over: rates(batched), under: rates(naive) });
  console.log(formatTable(["one wallet", "hold+capture/s", "min..max", "PostgreSQL us each"], rows));
  console.log(`batched over naive: ${ratio.median.toFixed(1)} (${ratio.least.toFixed(1)}..${ratio.most.toFixed(1)})`);
  console.log(bill);
  return {
    hold_capture_per_s: Math.round(summarize(rates(batched)).median),
    over_naive: Number(ratio.median.toFixed(2)),
    postgres_cpu_us: Number(cpu(batched).toFixed(1)),
  };
}
