import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Pool } from "../server/src/db/pool.ts";
import type { LedgerRound } from "./drive-ledger.ts";
import type { Harness } from "./harness.ts";
import { readTreeCpuMicroseconds } from "./read-cpu.ts";
import type { SeededWallet } from "./seed-wallets.ts";
import type { Postgres } from "./start-postgres.ts";

export interface PgbenchOptions {
  harness: Harness;
  postgres: Postgres;
  owner: Pool;
  wallet: SeededWallet;
  /** Searches per statement, the same as our ledger sends. */
  perBatch: number;
  maxSeconds: number;
}

/** The number of lanes that serve one wallet: one holds while the other captures. */
const clients = 2;
/** Upper bound for this machine. Ids are prepared in a table, because generating them is not part of the measurement. */
const maxPerSecond = 60_000;

/** pgbench only accepts whole seconds. */
export function wholeSeconds(seconds: number): number {
  return Math.max(1, Math.round(seconds));
}

/** Calls the same two functions with the same batch size from pgbench. */
export class Pgbench {
  readonly name: string;
  readonly rounds: LedgerRound[] = [];
  readonly #options: PgbenchOptions;
  readonly #script: string;
  #nextBatch = 0;

  private constructor(options: PgbenchOptions, script: string) {
    this.name = `pgbench, batches of ${options.perBatch}`;
    this.#options = options;
    this.#script = script;
  }

  static async prepare(options: PgbenchOptions): Promise<Pgbench> {
    const { owner, perBatch, wallet, harness } = options;
    const batches = Math.ceil((maxPerSecond * options.maxSeconds) / perBatch);
    await owner.query(
      "create table pb.bench_batches (number integer primary key, ids uuid[], wallets uuid[], keys uuid[])",
    );
    await owner.query(
      `insert into pb.bench_batches
       select number, array_agg(${randomId}), array_fill($3::uuid, array[$2::integer]), array_fill($4::uuid, array[$2::integer])
       from generate_series(1, $1::integer) number, generate_series(1, $2::integer) group by number`,
      [batches, perBatch, wallet.walletId, wallet.keyId],
    );
    await owner.query("grant select on pb.bench_batches to pennyblack_ledger");
    await owner.query("analyze pb.bench_batches");
    const script = join(harness.folder, "hold-and-capture.sql");
    writeFileSync(script, holdAndCapture);
    return new Pgbench(options, script);
  }

  async drive(seconds: number): Promise<LedgerRound> {
    const { postgres, harness, perBatch } = this.#options;
    const url = new URL(postgres.urls.ledger);
    const connectionArgs = ["-h", url.hostname, "-p", url.port, "-U", url.username];
    const runArgs = ["-n", "-M", "prepared", "-c", String(clients), "-T", String(wholeSeconds(seconds))];
    const scriptArgs = ["-f", this.#script, "-D", `batch=${this.#nextBatch}`, "-D", `clients=${clients}`];
    const cpuBefore = readTreeCpuMicroseconds(postgres.pid);
    const output = await harness.run(join(postgres.programs, "pgbench"), [
      ...connectionArgs,
      ...runArgs,
      ...scriptArgs,
      url.pathname.slice(1),
    ]);
    const batches = readNumber(output, /transactions actually processed: (\d+)/);
    const perSecond = readNumber(output, /tps = ([\d.]+)/) * perBatch;
    if (readNumber(output, /number of failed transactions: (\d+)/) > 0) throw new Error(output);
    // Clients count independently, so skip as many batches as the fastest client could have used.
    this.#nextBatch += (batches + 1) * clients;
    const searches = batches * perBatch;
    const postgresUs = (readTreeCpuMicroseconds(postgres.pid) - cpuBefore) / searches;
    return { searches, perSecond, postgresUs };
  }
}

/** A UUIDv7 with the current time, as the server would generate. */
const randomId = `(lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0') || '7'
  || substr(md5(random()::text), 1, 3) || '8' || substr(md5(random()::text), 1, 15))::uuid`;

const holdAndCapture = `
\\set batch :batch + :clients
\\set mine :batch + :client_id
select held.* from pb.bench_batches b, pb.hold(b.ids, b.wallets, b.keys, null, null, null, null, null, null, false) held where number = :mine;
select paid.* from pb.bench_batches b, pb.capture(b.ids, b.wallets, null, null) paid where number = :mine;
`;

function readNumber(text: string, pattern: RegExp): number {
  const found = pattern.exec(text)?.[1];
  if (found === undefined) throw new Error(`unexpected output from pgbench:\n${text}`);
  return Number(found);
}
