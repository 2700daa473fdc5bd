import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Pool } from "../server/src/db/pool.ts";
import type { LedgerRound } from "./drive-ledger.ts";
import { readFamilyCpuMicroseconds } from "./read-cpu.ts";
import type { SeededWallet } from "./seed-wallets.ts";
import type { Postgres } from "./start-postgres.ts";
import type { Workshop } from "./workshop.ts";

export interface PgbenchWish {
  workshop: Workshop;
  postgres: Postgres;
  owner: Pool;
  wallet: SeededWallet;
  /** As many searches in a statement as our ledger sends. */
  perBatch: number;
  mostSeconds: number;
}

/** As many as our lanes that serve one wallet: one holds while the other captures. */
const clients = 2;
/** More than this machine can do. The ids lie ready in a table, because making them is not what is measured. */
const mostPerSecond = 60_000;

/** It counts in these, and not in parts of them. */
export function wholeSeconds(seconds: number): number {
  return Math.max(1, Math.round(seconds));
}

/** The same two functions with batches of the same size, from a C program that does nothing else. */
export class Pgbench {
  readonly name: string;
  readonly rounds: LedgerRound[] = [];
  readonly #wish: PgbenchWish;
  readonly #script: string;
  #nextBatch = 0;

  private constructor(wish: PgbenchWish, script: string) {
    this.name = `pgbench, ${wish.perBatch} in a batch`;
    this.#wish = wish;
    this.#script = script;
  }

  static async prepare(wish: PgbenchWish): Promise<Pgbench> {
    const { owner, perBatch, wallet, workshop } = wish;
    const batches = Math.ceil((mostPerSecond * wish.mostSeconds) / perBatch);
    await owner.query(
      "create table pb.bench_batches (number integer primary key, ids uuid[], wallets uuid[], keys uuid[])",
    );
    await owner.query(
      `insert into pb.bench_batches
       select number, array_agg(${someId}), array_fill($3::uuid, array[$2::integer]), array_fill($4::uuid, array[$2::integer])
       from generate_series(1, $1::integer) number, generate_series(1, $2::integer) group by number`,
      [batches, perBatch, wallet.walletId, wallet.keyId],
    );
    await owner.query("grant select on pb.bench_batches to pennyblack_ledger");
    await owner.query("analyze pb.bench_batches");
    const script = join(workshop.folder, "hold-and-capture.sql");
    writeFileSync(script, holdAndCapture);
    return new Pgbench(wish, script);
  }

  async drive(seconds: number): Promise<LedgerRound> {
    const { postgres, workshop, perBatch } = this.#wish;
    const url = new URL(postgres.urls.ledger);
    const where = ["-h", url.hostname, "-p", url.port, "-U", url.username];
    const how = ["-n", "-M", "prepared", "-c", String(clients), "-T", String(wholeSeconds(seconds))];
    const which = ["-f", this.#script, "-D", `batch=${this.#nextBatch}`, "-D", `clients=${clients}`];
    const cpuBefore = readFamilyCpuMicroseconds(postgres.pid);
    const printed = await workshop.run(join(postgres.programs, "pgbench"), [
      ...where,
      ...how,
      ...which,
      url.pathname.slice(1),
    ]);
    const batches = readNumber(printed, /transactions actually processed: (\d+)/);
    const perSecond = readNumber(printed, /tps = ([\d.]+)/) * perBatch;
    if (readNumber(printed, /number of failed transactions: (\d+)/) > 0) throw new Error(printed);
    // Each client counts by itself; whoever was fastest decides where the next round begins.
    this.#nextBatch += (batches + 1) * clients;
    const searches = batches * perBatch;
    const postgresUs = (readFamilyCpuMicroseconds(postgres.pid) - cpuBefore) / searches;
    return { searches, perSecond, postgresUs };
  }
}

/** A UUIDv7 of now: what the server would send. */
const someId = `(lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0') || '7'
  || substr(md5(random()::text), 1, 3) || '8' || substr(md5(random()::text), 1, 15))::uuid`;

const holdAndCapture = `
\\set batch :batch + :clients
\\set mine :batch + :client_id
select held.* from pb.bench_batches b, pb.hold(b.ids, b.wallets, b.keys, null, null, null, null, null, null, false) held where number = :mine;
select paid.* from pb.bench_batches b, pb.capture(b.ids, b.wallets, null) paid where number = :mine;
`;

function readNumber(text: string, pattern: RegExp): number {
  const found = pattern.exec(text)?.[1];
  if (found === undefined) throw new Error(`pgbench said something else:\n${text}`);
  return Number(found);
}
