import { randomBytes } from "node:crypto";
import { loadavg } from "node:os";
import type { Pool } from "../server/src/db/pool.ts";
import { choosePort } from "../server/src/dev/choose-port.ts";
import type { DatabaseUrls } from "../server/src/dev/prepare-database.ts";
import { parseUsd } from "../server/src/lib/money.ts";
import { recountUsage, rollUpUsage } from "../server/src/usage/usage.ts";
import { describeMachine } from "./describe-machine.ts";
import { formatNumber, formatTable } from "./format-table.ts";
import type { Harness } from "./harness.ts";
import { readCpuMicroseconds, readTreeCpuMicroseconds } from "./read-cpu.ts";
import type { BenchOptions } from "./read-options.ts";
import { type SeededYear, seedYear } from "./seed-year.ts";
import { connectAsOwner, startPostgres } from "./start-postgres.ts";
import { summarize } from "./summarize.ts";
import { percentile, timeRequests } from "./time-requests.ts";

const pepper = { version: 1, bytes: randomBytes(32) };
const dayMs = 86_400_000;

/** Usage roll-up and usage queries for one wallet over a year. */
export async function runUsageBench(harness: Harness, options: BenchOptions): Promise<Record<string, number>> {
  console.log(describeMachine(harness.folder));
  const postgres = await startPostgres(harness);
  console.log(`Postgres  ${postgres.version} ${postgres.settings}`);
  const owner = connectAsOwner(postgres.urls);
  try {
    const seedStartMs = performance.now();
    const year = await seedYear(owner, pepper, options.searches);
    console.log(
      `Seeded    ${formatNumber(year.searches)} searches of one wallet over a year in ${elapsedSince(seedStartMs)}`,
    );
    const counting = await countYear(owner, year);
    await checkSums(owner, year);
    // Autovacuum would do this within a minute.
    await owner.query("vacuum analyze pb.usage_hours, pb.usage_days");
    const server = await startServer(harness, postgres.urls);
    const readCpu = (): number => readCpuMicroseconds(server.pid) + readTreeCpuMicroseconds(postgres.pid);
    const responses = await measureResponses(server.url, year, { requests: options.requests, readCpu });
    const baseline = await measureBaseline(owner, server.url, year);
    return { ...counting, ...responses, ...baseline };
  } finally {
    await owner.end();
  }
}

const elapsedSince = (startMs: number): string => `${((performance.now() - startMs) / 1_000).toFixed(1)} s`;

/** Runs the worker's roll-up functions up to the busy day, over it, and to the end. */
async function countYear(owner: Pool, year: SeededYear): Promise<Record<string, number>> {
  const neverAborted = new AbortController().signal;
  await owner.query("update pb.usage_watermark set counted_before = $1", [year.from]);
  const countTo = async (time: Date): Promise<{ searches: number; seconds: number }> => {
    await owner.query("update pb.sweep_watermark set settled_before = $1", [time]);
    const startMs = performance.now();
    const searches = await rollUpUsage(owner, neverAborted);
    return { searches, seconds: (performance.now() - startMs) / 1_000 };
  };
  const before = await countTo(year.busyDay);
  const busy = await countTo(new Date(year.busyDay.getTime() + dayMs));
  const rest = await countTo(year.to);
  const total = {
    searches: before.searches + busy.searches + rest.searches,
    seconds: before.seconds + busy.seconds + rest.seconds,
  };
  const rate = ({ searches, seconds }: typeof total): string =>
    `${formatNumber(searches)} searches in ${seconds.toFixed(1)} s, ${formatNumber(searches / seconds)}/s`;
  console.log(`Roll-up   year, 8,760 steps: ${rate(total)}`);
  console.log(`          busiest day, 24 steps: ${rate(busy)}`);
  const startMs = performance.now();
  const corrected = await recountUsage(owner, neverAborted);
  console.log(`Recount   last two days: ${corrected} rows corrected, ${elapsedSince(startMs)}`);
  return { rollup_per_s: total.searches / total.seconds, rollup_busy_day_per_s: busy.searches / busy.seconds };
}

async function checkSums(owner: Pool, { walletId }: SeededYear): Promise<void> {
  const { rows } = await owner.query<{ counted: string; plain: string }>(
    `select (select concat(sum(searches), ' ', sum(charged_micros)) from pb.usage_days where was_held and wallet_id = $1) as counted,
       (select concat(count(*), ' ', sum(price_micros) filter (where state = 'captured')) from pb.searches where wallet_id = $1) as plain`,
    [walletId],
  );
  if (rows[0] === undefined || rows[0].counted !== rows[0].plain)
    throw new Error(`roll-up does not match searches: ${JSON.stringify(rows[0])}`);
  const sizes = await owner.query<{ hours: bigint; days: bigint; size: string }>(
    `select (select count(*) from pb.usage_hours) as hours, (select count(*) from pb.usage_days) as days,
       pg_size_pretty(pg_total_relation_size('pb.usage_hours') + pg_total_relation_size('pb.usage_days')) as size`,
  );
  const { hours = 0n, days = 0n, size = "" } = sizes.rows[0] ?? {};
  console.log(`Checked   roll-up matches searches; ${hours} hourly rows, ${days} daily rows, ${size}`);
}

async function startServer(harness: Harness, urls: DatabaseUrls): Promise<{ url: string; pid: number }> {
  const port = await choosePort({ host: "127.0.0.1" });
  const { pid } = await harness.start({
    name: "the server",
    program: process.execPath,
    args: [new URL("../server/src/main.ts", import.meta.url).pathname],
    env: {
      HOST: "127.0.0.1",
      PORT: String(port),
      PENNYBLACK_OPS_PORT: String(await choosePort({ host: "127.0.0.1" })),
      DATABASE_URL: urls.ledger,
      PENNYBLACK_TENANT_DATABASE_URL: urls.tenant,
      PENNYBLACK_PUBLIC_URL: `http://127.0.0.1:${port}`,
      PENNYBLACK_SECRET: randomBytes(32).toString("base64"),
      PENNYBLACK_KEY_PEPPERS: `${pepper.version}:${pepper.bytes.toString("base64")}`,
      PENNYBLACK_DRAIN_MS: "0",
    },
    port,
  });
  return { url: `http://127.0.0.1:${port}`, pid };
}

const queries = {
  year_by_day: { title: "year by day", by: "day", days: 365, group: "" },
  year_by_day_outcome: { title: "year by day and outcome", by: "day", days: 365, group: "outcome" },
  year_by_day_key_category: { title: "year by day, key and category", by: "day", days: 365, group: "key,category" },
  month_by_hour: { title: "month by hour", by: "hour", days: 30, group: "" },
  month_by_hour_key_category: { title: "month by hour, key and category", by: "hour", days: 30, group: "key,category" },
  month_by_day_all: { title: "month by day and everything", by: "day", days: 30, group: "key,category,outcome" },
};

interface UsageBody {
  usage: { start: string; mode: string; searches: number; charged: string }[];
  next_cursor: string | null;
}

function usageUrl(
  url: string,
  year: SeededYear,
  { by, days, group }: Omit<(typeof queries)["year_by_day"], "title">,
): string {
  const from = new Date(year.to.getTime() - days * dayMs).toISOString();
  return `${url}/v1/usage?by=${by}&from=${from}&to=${year.to.toISOString()}&limit=2000${group && `&group=${group}`}`;
}

interface MeasureOptions {
  requests: number;
  /** Total CPU time of the server and PostgreSQL, in microseconds. */
  readCpu: () => number;
}

async function measureResponses(
  url: string,
  year: SeededYear,
  { requests, readCpu }: MeasureOptions,
): Promise<Record<string, number>> {
  const figures: Record<string, number> = {};
  const rows: string[][] = [];
  for (const [name, query] of Object.entries(queries)) {
    const address = usageUrl(url, year, query);
    await timeRequests(address, year.managementKey, 5);
    const cpuBefore = readCpu();
    const { durationsMs, bytes, body } = await timeRequests(address, year.managementKey, requests);
    const cpuMs = (readCpu() - cpuBefore) / requests / 1_000;
    const { usage, next_cursor: next } = body as UsageBody;
    figures[`${name}_p95_ms`] = percentile(durationsMs, 95);
    const ms = [50, 95, 99, 100].map((percent) => percentile(durationsMs, percent).toFixed(1));
    rows.push([query.title, ...ms, cpuMs.toFixed(1), `${usage.length}${next ? "+" : ""}`, formatNumber(bytes / 1_024)]);
  }
  console.log(
    `\nGET /v1/usage, ${requests} sequential requests each, in milliseconds; load average ${loadavg()[0]?.toFixed(1)}`,
  );
  console.log(formatTable(["", "p50", "p95", "p99", "max", "CPU", "lines", "KiB"], rows));
  return figures;
}

/** The month by hour, queried from pb.searches without the roll-up. */
async function measureBaseline(owner: Pool, url: string, year: SeededYear): Promise<Record<string, number>> {
  const { body, durationsMs } = await timeRequests(usageUrl(url, year, queries.month_by_hour), year.managementKey, 20);
  const from = new Date(year.to.getTime() - 30 * dayMs);
  const rawDurationsMs: number[] = [];
  let rawRows: { searches: bigint; charged: bigint }[] = [];
  for (let round = 0; round < 5; round += 1) {
    const startMs = performance.now();
    const { rows } = await owner.query<{ searches: bigint; charged: bigint }>(
      `select date_trunc('hour', held_at, 'utc') as hour, mode, count(*) as searches,
         coalesce(sum(price_micros) filter (where state = 'captured'), 0)::bigint as charged
       from pb.searches
       where wallet_id = $1 and held_at >= $2 and held_at < $3
         and id >= pb.uuid_floor($2 - interval '1 day') and id <= pb.uuid_floor($3 + interval '1 day')
       group by 1, 2 order by 1, 2`,
      [year.walletId, from, year.to],
    );
    rawDurationsMs.push(performance.now() - startMs);
    rawRows = rows;
  }
  const { usage } = body as UsageBody;
  const charged = usage.reduce((sum, line) => sum + (parseUsd(line.charged) ?? 0n), 0n);
  if (charged !== rawRows.reduce((sum, row) => sum + row.charged, 0n)) throw new Error("roll-up and searches differ");
  const baseline = summarize(rawDurationsMs);
  const rolledUp = summarize(durationsMs);
  const spread = ({ median, min, max }: typeof baseline): string =>
    `${median.toFixed(0)} ms (${min.toFixed(0)} to ${max.toFixed(0)})`;
  console.log(
    `\nBaseline  month by hour: SQL on pb.searches ${spread(baseline)}; HTTP from the roll-up ${spread(rolledUp)}`,
  );
  return { baseline_over: baseline.median / rolledUp.median };
}
