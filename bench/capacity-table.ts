import { readFileSync } from "node:fs";
import { join } from "node:path";
import { serverConnections, totalOf, workerConnections } from "../server/src/db/connection-counts.ts";
import { formatNumber } from "./format-table.ts";

// The tables of docs/runbooks/capacity.md, to which all other pages link, calculated from the recorded benchmark output in docs/performance. Each figure is
// a range: the best case is one busy server, where a database statement carries many searches, and the worst case is the
// same load spread over four servers. `npm run bench -- charts` updates the page.

/** Share of a core to plan with. */
const utilization = 0.6;
/** Assumptions about prices, in USD. Replace them with your provider's. */
const prices = { vcpuHour: 0.05, gigabyteMonth: 0.1 };
const upstreamSeconds = 0.8;
const rates = [10, 100, 1_000, 10_000, 100_000];

interface Range {
  min: number;
  max: number;
}

interface Costs {
  /** Microseconds of CPU time per search. */
  server: Range;
  postgres: Range;
  /** Bytes per search. */
  wal: Range;
  tables: number;
  /** A claim with its stored answer, which are deleted after a day. */
  claims: number;
  /** Bytes of WAL without and with a claim. */
  claimWal: Range;
}

/** MiB of resident memory. */
interface Memory {
  server: number;
  worker: number;
  /** With many searches in flight. */
  busyServer: number;
  /** KiB of each search in flight. */
  perSearch: Range;
}

/** Replaces each table below a `<!-- capacity: NAME -->` comment. */
export function insertCapacity(page: string, folder: string): string {
  const costs = readCosts(folder);
  const tables: Record<string, string[][]> = {
    processes: processes(readMemory(folder)),
    "per search": perSearch(costs),
    sizing: sizing(costs),
    money: money(costs),
  };
  return page.replace(/<!-- capacity: (.*?) -->\n\n(?:\|.*\n)*/g, (_table, name: string) => {
    const rows = tables[name];
    if (!rows) throw new Error(`unknown table "${name}"`);
    return `<!-- capacity: ${name} -->\n\n${rows.map((cells) => `| ${cells.join(" | ")} |\n`).join("")}`;
  });
}

function readCosts(folder: string): Costs {
  const read = (name: string): string => readFileSync(join(folder, `${name}.txt`), "utf8");
  const figures = (name: string): Record<string, number> =>
    JSON.parse(read(name).trimEnd().split("\n").at(-1) ?? "") as Record<string, number>;
  // Columns: servers, searches/s, min..max, server us, PostgreSQL us, p99 ms, connections.
  const spread = /^4 +(\S+ +){2}(?<server>[\d,]+) +(?<postgres>[\d,]+) /m.exec(read("processes"))?.groups ?? {};
  const [search, growth, footprint] = [figures("search"), figures("growth"), figures("footprint")];
  return {
    server: { min: need(search["billed_cpu_us"]), max: parseNumber(spread["server"]) },
    postgres: { min: need(search["postgres_cpu_us"]), max: parseNumber(spread["postgres"]) },
    wal: { min: need(growth["max_wal_bytes_without_images"]), max: need(growth["wal_bytes"]) },
    tables: tableBytes(read("growth")) / need(growth["rows"]),
    claims: need(footprint["claim_bytes"]),
    claimWal: { min: need(footprint["wal_bytes"]), max: need(footprint["wal_bytes_idempotent"]) },
  };
}

function readMemory(folder: string): Memory {
  const read = (name: string): string => readFileSync(join(folder, `${name}.txt`), "utf8").trimEnd();
  const idle = JSON.parse(read("quiet").split("\n").at(-1) ?? "") as { memoryMib: Record<string, number> };
  // Columns: ..., idle MiB, peak MiB, KiB/search, server us. One line per upstream.
  const lines = [...read("in-flight").matchAll(/ms +(?:[\d.,]+ +){7}(?<peak>[\d,]+) +(?<each>[\d,]+) +\S+$/gm)].map(
    ({ groups }) => ({ peak: parseNumber(groups?.["peak"]), each: parseNumber(groups?.["each"]) }),
  );
  return {
    server: need(idle.memoryMib["pennyblack-server"]),
    worker: need(idle.memoryMib["pennyblack-worker"]),
    busyServer: Math.max(...lines.map(({ peak }) => peak)),
    perSearch: { min: Math.min(...lines.map(({ each }) => each)), max: Math.max(...lines.map(({ each }) => each)) },
  };
}

function processes({ server, worker, busyServer, perSearch: each }: Memory): string[][] {
  const connections = (pools: Readonly<Record<string, number>>): string => {
    const parts = Object.entries(pools).map(([pool, count]) => `${count} ${pool}`);
    return `${totalOf(pools)} (${parts.join(", ")})`;
  };
  return [
    ["Resource", "Server", "Worker", "Measured with"],
    ["---", "---", "---", "---"],
    [
      "Connections to PostgreSQL, at most",
      connections(serverConnections),
      connections(workerConnections),
      "`server/src/db/connection-counts.ts`, which the pools and `npm run admin -- doctor` use",
    ],
    ["Memory after 1,000 searches, then idle", `${server} MiB`, `${worker} MiB`, "`npm run alerts -- quiet`"],
    ["Memory with 3,500 searches in flight", `${busyServer} MiB`, "the same", "`npm run bench -- in-flight`"],
    ["Memory of a search in flight", `${each.min} to ${each.max} KiB`, "none", "the same"],
  ];
}

/** Bytes of searches and transfers with their indexes, in the largest ledger. */
function tableBytes(output: string): number {
  const line = output.split("\n").findLast((text) => text.startsWith("searches ")) ?? "";
  const sizes = line.slice(0, line.indexOf(", keys")).matchAll(/([\d.]+) (kB|MB|GB)/g);
  const units: Record<string, number> = { kB: 2 ** 10, MB: 2 ** 20, GB: 2 ** 30 };
  return sizes.reduce((sum, [, size, unit = ""]) => sum + Number(size) * (units[unit] ?? 0), 0);
}

function perSearch({ server, postgres, wal, tables, claims, claimWal }: Costs): string[][] {
  return [
    ["Resource", "Per search", "Measured with"],
    ["---", "---", "---"],
    ["Server CPU", `${range(server)} us`, "`npm run bench`, `npm run bench -- processes`"],
    ["PostgreSQL CPU", `${range(postgres)} us`, "the same"],
    ["PostgreSQL WAL", `${range(wal)} bytes`, "`npm run bench -- growth`"],
    [
      "PostgreSQL tables and indexes",
      `${formatNumber(tables)} bytes`,
      "`npm run bench -- growth`, searches and transfers",
    ],
    [
      "PostgreSQL WAL without and with an `Idempotency-Key`, ten searches per statement",
      `${range(claimWal)} bytes`,
      "`npm run bench -- footprint`",
    ],
    [
      "Claim and stored answer of an `Idempotency-Key`, for a day",
      `${formatNumber(claims)} bytes`,
      "`npm run bench -- footprint`",
    ],
    ["In-flight slot", "as long as the upstream takes", "`pennyblack_upstream_duration_seconds`"],
  ];
}

function sizing({ server, postgres, wal, tables, claims }: Costs): string[][] {
  const cores = (us: Range, rate: number): string => range(scale(us, rate / 1e6 / utilization));
  return [
    ["Searches/s", "Server cores", "PostgreSQL cores", "WAL per day", "Tables per day", "Claims", "In flight"],
    ["---", "---", "---", "---", "---", "---", "---"],
    ...rates.map((rate) => [
      formatNumber(rate),
      cores(server, rate),
      cores(postgres, rate),
      `${range(scale(wal, (rate * 86_400) / 1e9))} GB`,
      `${round((tables * rate * 86_400) / 1e9)} GB`,
      `${round((claims * rate * 86_400) / 1e9)} GB`,
      formatNumber(rate * upstreamSeconds),
    ]),
  ];
}

function money({ server, postgres, wal, tables }: Costs): string[][] {
  const cpu = scale({ min: server.min + postgres.min, max: server.max + postgres.max }, 1 / 3_600 / utilization);
  const gigabytes = tables / 1e3;
  const total = (hours: number): number => hours * prices.vcpuHour + gigabytes * prices.gigabyteMonth;
  return [
    ["One million searches need", "Amount", "Price (assumed)", "USD"],
    ["---", "---", "---", "---"],
    [
      "CPU of servers and PostgreSQL",
      `${range(cpu)} vCPU-hours`,
      `${prices.vcpuHour} per vCPU-hour`,
      usd(scale(cpu, prices.vcpuHour)),
    ],
    [
      "Tables, kept for a month",
      `${round(gigabytes)} GB`,
      `${prices.gigabyteMonth} per GB-month`,
      (gigabytes * prices.gigabyteMonth).toFixed(3),
    ],
    ["**Total**", "", "", usd({ min: total(cpu.min), max: total(cpu.max) })],
    [
      "WAL, if you archive it, before compression",
      `${range(scale(wal, 1e-3))} GB`,
      `${prices.gigabyteMonth} per GB-month`,
      usd(scale(wal, 1e-3 * prices.gigabyteMonth)),
    ],
  ];
}

function scale({ min, max }: Range, factor: number): Range {
  return { min: min * factor, max: max * factor };
}

function range({ min, max }: Range): string {
  return `${round(min)} to ${round(max)}`;
}

function usd({ min, max }: Range): string {
  return `${min.toFixed(3)} to ${max.toFixed(3)}`;
}

/** Two significant digits below 100, whole numbers above. */
function round(value: number): string {
  return value >= 100 ? formatNumber(value) : String(Number(value.toPrecision(2)));
}

function parseNumber(text: string | undefined): number {
  return need(text === undefined ? undefined : Number(text.replaceAll(",", "")));
}

function need(value: number | undefined): number {
  if (value === undefined || !(value > 0)) throw new Error("a figure is missing in docs/performance");
  return value;
}
