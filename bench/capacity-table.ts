import { readFileSync } from "node:fs";
import { join } from "node:path";
import { formatNumber } from "./format-table.ts";

// The tables of docs/runbooks/capacity.md, calculated from the recorded benchmark output in docs/performance. Each figure is
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
}

/** Replaces each table below a `<!-- capacity: NAME -->` comment. */
export function insertCapacity(page: string, folder: string): string {
  const costs = readCosts(folder);
  const tables: Record<string, string[][]> = {
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
  const [search, growth] = [figures("search"), figures("growth")];
  return {
    server: { min: need(search["billed_cpu_us"]), max: parseNumber(spread["server"]) },
    postgres: { min: need(search["postgres_cpu_us"]), max: parseNumber(spread["postgres"]) },
    wal: { min: need(growth["max_wal_bytes_without_images"]), max: need(growth["wal_bytes"]) },
    tables: tableBytes(read("growth")) / need(growth["rows"]),
  };
}

/** Bytes of searches and transfers with their indexes, in the largest ledger. */
function tableBytes(output: string): number {
  const line = output.split("\n").findLast((text) => text.startsWith("searches ")) ?? "";
  const sizes = line.slice(0, line.indexOf(", keys")).matchAll(/([\d.]+) (kB|MB|GB)/g);
  const units: Record<string, number> = { kB: 2 ** 10, MB: 2 ** 20, GB: 2 ** 30 };
  return sizes.reduce((sum, [, size, unit = ""]) => sum + Number(size) * (units[unit] ?? 0), 0);
}

function perSearch({ server, postgres, wal, tables }: Costs): string[][] {
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
    ["In-flight slot", "as long as the upstream takes", "`pennyblack_upstream_duration_seconds`"],
  ];
}

function sizing({ server, postgres, wal, tables }: Costs): string[][] {
  const cores = (us: Range, rate: number): string => range(scale(us, rate / 1e6 / utilization));
  return [
    ["Searches/s", "Server cores", "PostgreSQL cores", "WAL per day", "Tables per day", "In flight"],
    ["---", "---", "---", "---", "---", "---"],
    ...rates.map((rate) => [
      formatNumber(rate),
      cores(server, rate),
      cores(postgres, rate),
      `${range(scale(wal, (rate * 86_400) / 1e9))} GB`,
      `${round((tables * rate * 86_400) / 1e9)} GB`,
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
