import type pg from "pg";
import { createPool, type Pool } from "../server/src/db/pool.ts";
import { roles } from "../server/src/db/roles.ts";
import { firstIdOf } from "../server/src/lib/first-id-of.ts";
import { formatNumber } from "./format-table.ts";
import { sql } from "./growth-ids.ts";

export interface Growth {
  wallets: number;
  /** Rows of pb.transfers: one top-up for each wallet, then captures, each with its search. */
  rows: number;
  /** Days the rows are spread over. Today has a tenth of them, unless they are spread evenly. */
  days: number;
  isEven?: boolean;
  /** Every search is of a different end user, with a window of the wallet's budget per end user. */
  hasWindows?: boolean;
}

interface Day {
  name: string;
  startMs: number;
  lengthMs: number;
  firstRow: number;
  rows: number;
}

type Job = (client: pg.PoolClient) => Promise<void>;

const dayMs = 86_400_000;
const creditMicros = 100_000_000_000;
const hour = 3_600_000;

/**
 * Turns off durability, because seeded data can be recreated. Used only while seeding, never during a measurement.
 */
export const seedingSettings = [
  "fsync=off",
  "wal_level=minimal",
  "max_wal_senders=0",
  "full_page_writes=off",
  "autovacuum=off",
  "checkpoint_timeout=1h",
  // WAL must fit on the disk next to fifty gigabytes of data.
  "max_wal_size=2GB",
];

/** Replaces all wallets and the ledger up to now. Requires a superuser and uses two cores. */
export async function seedGrowth(adminUrl: string, growth: Growth): Promise<void> {
  const pool = createPool({
    url: adminUrl,
    name: "pennyblack bench",
    connections: 2,
    statementTimeoutMs: hour,
    onIdleError: () => undefined,
  });
  const startMs = performance.now();
  const logProgress = (message: string): void =>
    console.error(`${((performance.now() - startMs) / 1_000).toFixed(0).padStart(5)} s  ${message}`);
  try {
    const days = listDays(growth);
    await dropDays(pool);
    const jobs: Job[] = [
      ...days.map((day) => async (client: pg.PoolClient) => {
        await seedDay(client, growth, day);
        logProgress(`${day.name}: ${formatNumber(day.rows)} rows`);
      }),
      async (client) => {
        await seedWallets(client, growth);
        logProgress(`${formatNumber(growth.wallets)} wallets, accounts and keys`);
      },
    ];
    await Promise.all([1, 2].map(() => runJobs(pool, jobs)));
    const payments: Job[] = [(client) => seedPayments(client, growth, days)];
    await runJobs(pool, payments);
    logProgress(`${formatNumber(growth.wallets)} payments`);
    if (growth.hasWindows) {
      await runJobs(pool, [(client) => seedWindows(client, growth)]);
      logProgress(`${formatNumber(growth.rows - growth.wallets)} windows of end users`);
    }
    await pool.query("update pb.usage_watermark set counted_before = $1", [new Date((days[0]?.startMs ?? 0) - dayMs)]);
    await pool.query("update pb.sweep_watermark set settled_before = clock_timestamp()");
  } finally {
    await pool.end();
  }
}

/** Runs jobs from the shared queue until it is empty. */
async function runJobs(pool: Pool, jobs: Job[]): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query(
      `set session_replication_role = replica; set lock_timeout = 0; set idle_in_transaction_session_timeout = 0;
       set jit = off; set work_mem = '256MB'; set maintenance_work_mem = '512MB';
       set max_parallel_maintenance_workers = 0; set max_parallel_workers_per_gather = 0`,
    );
    for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) await job(client);
  } finally {
    client.release(true);
  }
}

function listDays({ rows, days, isEven }: Growth): Day[] {
  const todayMs = Math.floor(Date.now() / dayMs) * dayMs;
  const elapsedDays = (Date.now() - todayMs) / dayMs;
  const todayRows = Math.floor(rows * (isEven ? elapsedDays / (days - 1 + elapsedDays) : 0.1));
  const otherRows = Math.floor((rows - todayRows) / (days - 1));
  return Array.from({ length: days }, (_, index) => {
    const isToday = index === days - 1;
    const startMs = todayMs - (days - 1 - index) * dayMs;
    const firstRow = index * otherRows;
    return {
      name: new Date(startMs).toISOString().slice(0, 10).replaceAll("-", ""),
      startMs,
      lengthMs: isToday ? Math.max(1, Date.now() - startMs) : dayMs,
      firstRow,
      rows: isToday ? rows - firstRow : otherRows,
    };
  });
}

/** Drops partitions up to today. Future partitions are empty and stay. */
async function dropDays(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits
     where inhparent in ('pb.searches'::regclass, 'pb.transfers'::regclass)
       and right(inhrelid::regclass::text, 8) <= to_char(clock_timestamp() at time zone 'utc', 'YYYYMMDD')`,
  );
  for (const { name } of rows) await pool.query(`drop table ${name}`);
}

/** With wal_level=minimal, writes to tables created or truncated in the same transaction are not logged. */
async function inTransaction(client: pg.PoolClient, statements: readonly string[]): Promise<void> {
  for (const statement of ["begin", ...statements, "commit"]) await client.query(statement);
}

/** Fills partitions without indexes and vacuums them while cached. Attaching them builds the indexes. */
async function seedDay(client: pg.PoolClient, growth: Growth, day: Day): Promise<void> {
  const [searches, transfers] = [`pb.searches_${day.name}`, `pb.transfers_${day.name}`];
  const lastRow = day.firstRow + day.rows - 1;
  const topUps = `generate_series(${day.firstRow}::bigint, ${Math.min(lastRow, growth.wallets - 1)}) n`;
  const captures = `generate_series(${Math.max(day.firstRow, growth.wallets)}::bigint, ${lastRow}) n`;
  const wallet = `(n * 7919 % ${growth.wallets})`;
  const ms = `(${day.startMs} + (n - ${day.firstRow}) * ${day.lengthMs} / ${day.rows})`;
  await inTransaction(client, [
    ...createDay("searches", day, 70),
    `insert into ${searches}
       (id, wallet_id, key_id, mode, price_micros, state, held_at, expires_at, settled_at, category, window_ids)
     select ${sql.row("n", ms)}, ${sql.wallet(wallet)}, ${sql.key(wallet)}, 'live', 10000, 'captured',
       at, at + interval '1 minute', at, case when n % 3 = 0 then 'programming' end,
       ${growth.hasWindows ? "array[n]" : "null"}
     from (select n, to_timestamp(${ms} / 1000.0) as at from ${captures} offset 0) r`,
  ]);
  await inTransaction(client, [
    ...createDay("transfers", day, 100),
    `insert into ${transfers} (id, wallet_id, kind, from_account, to_account, amount_micros, created_at)
     select ${sql.row("n", ms)}, ${sql.wallet(wallet)}, 'top_up', 'cash', 'wallet', ${creditMicros},
       to_timestamp(${ms} / 1000.0)
     from ${topUps}`,
    `insert into ${transfers} (id, wallet_id, search_id, kind, from_account, to_account, amount_micros, created_at)
     select id, wallet_id, id, 'capture', 'wallet', 'revenue', price_micros, settled_at from ${searches}`,
  ]);
  for (const parent of ["searches", "transfers"]) {
    await client.query(`vacuum (freeze, analyze) pb.${parent}_${day.name}`);
    await client.query(
      `alter table pb.${parent} attach partition pb.${parent}_${day.name}
         for values from ('${firstIdOf(new Date(day.startMs))}') to ('${firstIdOf(new Date(day.startMs + dayMs))}')`,
    );
  }
}

/** Creates a partition like pb.make_partitions does, but without indexes. */
function createDay(parent: string, { name }: Day, fillfactor: number): string[] {
  return [
    `create table pb.${parent}_${name} (like pb.${parent} including all excluding indexes) with (fillfactor = ${fillfactor})`,
    `alter table pb.${parent}_${name} owner to ${roles.owner}`,
  ];
}

async function seedWallets(client: pg.PoolClient, { wallets, rows }: Growth): Promise<void> {
  const numbers = `generate_series(0::bigint, ${wallets - 1}) n`;
  const createdAt = `to_timestamp(${sql.walletMs("n")} / 1000.0)`;
  const debitedMicros = (rows / wallets - 1) * 10_000;
  await inTransaction(client, [
    "truncate pb.accounts cascade",
    ...fill(
      "accounts",
      `insert into pb.accounts (id, name, created_at) select ${sql.wallet("n")}, 'bench', ${createdAt} from ${numbers}`,
    ),
    ...fill(
      "wallets",
      `insert into pb.wallets (id, account_id, name, credited_micros, debited_micros, created_at)
       select id, id, 'bench', ${creditMicros}, ${debitedMicros}, created_at from pb.accounts`,
    ),
    ...fill(
      "keys",
      `insert into pb.keys (id, wallet_id, mode, name, start, pepper_version, digest, scopes, created_at)
       select ${sql.key("n")}, ${sql.wallet("n")}, 'live', 'bench', 'pb_live_0000', 1, ${sql.digest("n")},
         array['search'], ${createdAt}
       from ${numbers}`,
    ),
  ]);
  await client.query("vacuum (freeze, analyze) pb.accounts, pb.wallets, pb.keys");
}

async function seedPayments(client: pg.PoolClient, { wallets }: Growth, days: readonly Day[]): Promise<void> {
  const names = days.filter((day) => day.firstRow < wallets).map((day) => day.name);
  await inTransaction(client, [
    "truncate pb.payments cascade",
    ...fill(
      "payments",
      ...names.map(
        (name) =>
          `insert into pb.payments (payment_id, wallet_id, transfer_id, amount_micros, created_at)
           select 'bench ' || id, wallet_id, id, amount_micros, created_at
           from pb.transfers_${name} where kind = 'top_up'`,
      ),
    ),
  ]);
  await client.query("vacuum (freeze, analyze) pb.payments");
}

/** The id of a window is the number of its search. */
async function seedWindows(client: pg.PoolClient, { wallets, rows }: Growth): Promise<void> {
  const number = `(n * 7919 % ${wallets})`;
  await inTransaction(client, [
    "truncate pb.budgets cascade",
    `insert into pb.budgets (id, wallet_id, mode, amount_micros, period, per_end_user)
     select id, id, 'live', 20000, 'month', true from pb.wallets`,
    ...fill(
      "budget_windows",
      `insert into pb.budget_windows (id, wallet_id, mode, budget_id, subject, spent_micros, opened_at, resets_at)
       select n, ${sql.wallet(number)}, 'live', ${sql.wallet(number)}, 'user ' || n, 10000, now(),
         date_trunc('month', now(), 'utc') + interval '1 month'
       from generate_series(${wallets}::bigint, ${rows - 1}) n`,
    ),
  ]);
  await client.query("vacuum (freeze, analyze) pb.budgets, pb.budget_windows");
}

/** Disables indexes during the insert and rebuilds them, which is faster than inserting ten million random digests. */
function fill(table: string, ...inserts: string[]): string[] {
  return [
    `update pg_index set indisready = false, indisvalid = false where indrelid = 'pb.${table}'::regclass`,
    ...inserts,
    `reindex table pb.${table}`,
  ];
}
