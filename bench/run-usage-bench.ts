import { randomBytes } from "node:crypto";
import { loadavg } from "node:os";
import type { Pool } from "../server/src/db/pool.ts";
import { choosePort } from "../server/src/dev/choose-port.ts";
import type { DatabaseUrls } from "../server/src/dev/prepare-database.ts";
import { parseUsd } from "../server/src/lib/money.ts";
import { recountUsage, rollUpUsage } from "../server/src/usage/usage.ts";
import { describeMachine } from "./describe-machine.ts";
import { formatNumber, formatTable } from "./format-table.ts";
import { readCpuMicroseconds, readFamilyCpuMicroseconds } from "./read-cpu.ts";
import type { BenchOptions } from "./read-options.ts";
import { seedYear, type Year } from "./seed-year.ts";
import { connectAsOwner, startPostgres } from "./start-postgres.ts";
import { summarize } from "./summarize.ts";
import { percentile, timeRequests } from "./time-requests.ts";
import type { Workshop } from "./workshop.ts";

const pepper = { version: 1, bytes: randomBytes(32) };
const dayMs = 86_400_000;

/** A year of one wallet: how fast it is counted, and how fast its owner is answered. */
export async function runUsageBench(workshop: Workshop, options: BenchOptions): Promise<Record<string, number>> {
  console.log(describeMachine(workshop.folder));
  const postgres = await startPostgres(workshop);
  console.log(`Postgres  ${postgres.version} ${postgres.settings}`);
  const owner = connectAsOwner(postgres.urls);
  try {
    const seeded = performance.now();
    const year = await seedYear(owner, pepper, options.searches);
    console.log(`Seeded    ${formatNumber(year.searches)} searches of one wallet over a year in ${since(seeded)}`);
    const counting = await countYear(owner, year);
    await checkSums(owner, year);
    // Autovacuum would be here within a minute.
    await owner.query("vacuum analyze pb.usage_hours, pb.usage_days");
    const server = await startServer(workshop, postgres.urls);
    const readCpu = (): number => readCpuMicroseconds(server.pid) + readFamilyCpuMicroseconds(postgres.pid);
    const answers = await measureAnswers(server.url, year, { requests: options.requests, readCpu });
    const baseline = await measureBaseline(owner, server.url, year);
    return { ...counting, ...answers, ...baseline };
  } finally {
    await owner.end();
  }
}

const since = (began: number): string => `${((performance.now() - began) / 1_000).toFixed(1)} s`;

/** The worker's own functions, up to the busy day, over it, and to the end. */
async function countYear(owner: Pool, year: Year): Promise<Record<string, number>> {
  const never = new AbortController().signal;
  await owner.query("update pb.usage_watermark set counted_before = $1", [year.from]);
  const countTo = async (moment: Date): Promise<{ searches: number; seconds: number }> => {
    await owner.query("update pb.sweep_watermark set settled_before = $1", [moment]);
    const began = performance.now();
    const searches = await rollUpUsage(owner, never);
    return { searches, seconds: (performance.now() - began) / 1_000 };
  };
  const before = await countTo(year.busyDay);
  const busy = await countTo(new Date(year.busyDay.getTime() + dayMs));
  const rest = await countTo(year.to);
  const whole = {
    searches: before.searches + busy.searches + rest.searches,
    seconds: before.seconds + busy.seconds + rest.seconds,
  };
  const rate = ({ searches, seconds }: typeof whole): string =>
    `${formatNumber(searches)} searches in ${seconds.toFixed(1)} s, ${formatNumber(searches / seconds)}/s`;
  console.log(`Roll-up   the year, 8,760 steps: ${rate(whole)}`);
  console.log(`          its busy day, 24 steps: ${rate(busy)}`);
  const began = performance.now();
  const corrected = await recountUsage(owner, never);
  console.log(`Recount   of the last two days: ${corrected} rows differed, ${since(began)}`);
  return { rollup_per_s: whole.searches / whole.seconds, rollup_busy_day_per_s: busy.searches / busy.seconds };
}

async function checkSums(owner: Pool, { walletId }: Year): Promise<void> {
  const { rows } = await owner.query<{ counted: string; plain: string }>(
    `select (select concat(sum(searches), ' ', sum(charged_micros)) from pb.usage_days where was_held and wallet_id = $1) as counted,
       (select concat(count(*), ' ', sum(price_micros) filter (where state = 'captured')) from pb.searches where wallet_id = $1) as plain`,
    [walletId],
  );
  if (rows[0] === undefined || rows[0].counted !== rows[0].plain)
    throw new Error(`not equal: ${JSON.stringify(rows[0])}`);
  const sizes = await owner.query<{ hours: bigint; days: bigint; size: string }>(
    `select (select count(*) from pb.usage_hours) as hours, (select count(*) from pb.usage_days) as days,
       pg_size_pretty(pg_total_relation_size('pb.usage_hours') + pg_total_relation_size('pb.usage_days')) as size`,
  );
  const { hours = 0n, days = 0n, size = "" } = sizes.rows[0] ?? {};
  console.log(`Checked   usage is a plain count of the searches; ${hours} rows by hour, ${days} by day, ${size}`);
}

async function startServer(workshop: Workshop, urls: DatabaseUrls): Promise<{ url: string; pid: number }> {
  const port = await choosePort({ host: "127.0.0.1" });
  const { pid } = await workshop.start({
    name: "the server",
    program: process.execPath,
    args: [new URL("../server/src/main.ts", import.meta.url).pathname],
    environment: {
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

const questions = {
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

function addressOf(
  url: string,
  year: Year,
  { by, days, group }: Omit<(typeof questions)["year_by_day"], "title">,
): string {
  const from = new Date(year.to.getTime() - days * dayMs).toISOString();
  return `${url}/v1/usage?by=${by}&from=${from}&to=${year.to.toISOString()}&limit=2000${group && `&group=${group}`}`;
}

interface Measuring {
  requests: number;
  /** Of the server and PostgreSQL together, in microseconds. */
  readCpu: () => number;
}

async function measureAnswers(
  url: string,
  year: Year,
  { requests, readCpu }: Measuring,
): Promise<Record<string, number>> {
  const figures: Record<string, number> = {};
  const rows: string[][] = [];
  for (const [name, question] of Object.entries(questions)) {
    const address = addressOf(url, year, question);
    await timeRequests(address, year.managementKey, 5);
    const cpuBefore = readCpu();
    const { took, bytes, body } = await timeRequests(address, year.managementKey, requests);
    const cpuMs = (readCpu() - cpuBefore) / requests / 1_000;
    const { usage, next_cursor: next } = body as UsageBody;
    figures[`${name}_p95_ms`] = percentile(took, 95);
    const ms = [50, 95, 99, 100].map((hundredths) => percentile(took, hundredths).toFixed(1));
    rows.push([
      question.title,
      ...ms,
      cpuMs.toFixed(1),
      `${usage.length}${next ? " of more" : ""}`,
      formatNumber(bytes / 1_024),
    ]);
  }
  console.log(
    `\nGET /v1/usage, ${requests} times each, one after the other, in milliseconds; load now ${loadavg()[0]?.toFixed(1)}`,
  );
  console.log(formatTable(["", "p50", "p95", "p99", "most", "CPU", "lines", "KiB"], rows));
  return figures;
}

/** The same answer straight from the searches, for the month by hour. */
async function measureBaseline(owner: Pool, url: string, year: Year): Promise<Record<string, number>> {
  const { body, took } = await timeRequests(addressOf(url, year, questions.month_by_hour), year.managementKey, 20);
  const from = new Date(year.to.getTime() - 30 * dayMs);
  const straight: number[] = [];
  let plain: { searches: bigint; charged: bigint }[] = [];
  for (let round = 0; round < 5; round += 1) {
    const began = performance.now();
    const { rows } = await owner.query<{ searches: bigint; charged: bigint }>(
      `select date_trunc('hour', held_at, 'utc') as hour, mode, count(*) as searches,
         coalesce(sum(price_micros) filter (where state = 'captured'), 0)::bigint as charged
       from pb.searches
       where wallet_id = $1 and held_at >= $2 and held_at < $3
         and id >= pb.uuid_floor($2 - interval '1 day') and id <= pb.uuid_floor($3 + interval '1 day')
       group by 1, 2 order by 1, 2`,
      [year.walletId, from, year.to],
    );
    straight.push(performance.now() - began);
    plain = rows;
  }
  const { usage } = body as UsageBody;
  const charged = usage.reduce((sum, line) => sum + (parseUsd(line.charged) ?? 0n), 0n);
  if (charged !== plain.reduce((sum, row) => sum + row.charged, 0n)) throw new Error("the answers differ");
  const baseline = summarize(straight);
  const rolled = summarize(took);
  const spread = ({ median, least, most }: typeof baseline): string =>
    `${median.toFixed(0)} ms (${least.toFixed(0)} to ${most.toFixed(0)})`;
  console.log(
    `\nBaseline  month by hour straight from pb.searches, SQL alone: ${spread(baseline)}; over HTTP from the roll-up: ${spread(rolled)}`,
  );
  return { baseline_over: baseline.median / rolled.median };
}
