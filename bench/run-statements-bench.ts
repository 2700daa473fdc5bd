import { randomBytes, randomUUIDv7 } from "node:crypto";
import { createPool, type Pool } from "../server/src/db/pool.ts";
import { type HoldRequest, sendCaptures, sendHolds } from "../server/src/wallet/statements.ts";
import { checkCharges } from "./check-charges.ts";
import { describeMachine } from "./describe-machine.ts";
import { formatNumber, formatTable } from "./format-table.ts";
import type { Harness } from "./harness.ts";
import { readMainThreadMicroseconds } from "./read-cpu.ts";
import type { BenchOptions } from "./read-options.ts";
import { type SeededWallet, seedWallets } from "./seed-wallets.ts";
import { connectAsOwner, startPostgres } from "./start-postgres.ts";
import { summarize } from "./summarize.ts";

// PostgreSQL's CPU time for one statement of the ledger, by the number of searches in it. One connection and one statement at
// a time, so that the minimum of the rounds hardly depends on other work on the machine.

const sizes = [1, 3, 10, 30, 100];
const wallets = 300;

interface Round {
  hold: number;
  capture: number;
  statements: number;
}

export async function runStatementsBench(harness: Harness, options: BenchOptions): Promise<Record<string, number>> {
  console.log(describeMachine(harness.folder));
  const postgres = await startPostgres(harness);
  console.log(`Postgres  ${postgres.version} ${postgres.settings}\n`);
  const owner = connectAsOwner(postgres.urls);
  const pool = createPool({
    url: postgres.urls.ledger,
    name: "pennyblack bench",
    connections: 1,
    onIdleError: () => undefined,
  });
  try {
    const seeded = await seedWallets(owner, { version: 1, bytes: randomBytes(32) }, wallets);
    await owner.query("analyze");
    const { rows } = await pool.query<{ pid: number }>("select pg_backend_pid() as pid");
    const driver = { pool, pid: rows[0]?.pid ?? 0, wallets: seeded };
    const figures: Record<string, number> = {};
    const table: string[][] = [];
    let charged = 0;
    for (const size of sizes) {
      const warmUp = await drive(driver, size, options.warmUpSeconds / 2);
      charged += warmUp.statements * size;
      const rounds: Round[] = [];
      for (let round = 0; round < options.rounds; round += 1) {
        const measured = await drive(driver, size, options.seconds / 5);
        charged += measured.statements * size;
        rounds.push(measured);
      }
      const [hold, capture] = [
        summarize(rounds.map((each) => each.hold)),
        summarize(rounds.map((each) => each.capture)),
      ];
      const perSearch = (hold.min + capture.min) / size;
      table.push([String(size), ...[hold.min, hold.median, capture.min, capture.median, perSearch].map(formatNumber)]);
      figures[`hold_us_of_${size}`] = Math.round(hold.min);
      figures[`capture_us_of_${size}`] = Math.round(capture.min);
    }
    const head = ["searches per statement", "hold us", "median", "capture us", "median", "us per search"];
    console.log(formatTable(head, table));
    console.log(`\n${await checkCharges(owner, charged)}`);
    return figures;
  } finally {
    await Promise.all([owner.end(), pool.end()]);
  }
}

interface Driver {
  pool: Pool;
  /** Of the server process of the pool's connection. */
  pid: number;
  wallets: readonly SeededWallet[];
}

/** The mean CPU time of a statement in microseconds. */
async function drive({ pool, pid, wallets: seeded }: Driver, size: number, seconds: number): Promise<Round> {
  const total = { hold: 0, capture: 0, statements: 0 };
  const endMs = performance.now() + seconds * 1_000;
  for (let next = 0; performance.now() < endMs; next += size) {
    const items = Array.from({ length: size }, (_, index): HoldRequest => {
      const { walletId, keyId } = seeded[(next + index) % seeded.length] as SeededWallet;
      return { searchId: randomUUIDv7(), walletId, keyId };
    });
    const before = readMainThreadMicroseconds(pid);
    await sendHolds(pool, items, { isResend: false, lockWait: "short" });
    const between = readMainThreadMicroseconds(pid);
    await sendCaptures(pool, items, { lockWait: "short" });
    total.hold += between - before;
    total.capture += readMainThreadMicroseconds(pid) - between;
    total.statements += 1;
  }
  const { hold, capture, statements } = total;
  return { hold: hold / statements, capture: capture / statements, statements };
}
