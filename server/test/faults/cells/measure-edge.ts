import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readCpuMicroseconds, readTreeCpuMicroseconds } from "../../../../bench/read-cpu.ts";
import { percentile } from "../../../../bench/summarize.ts";
import { sendSearch } from "../send-search.ts";
import type { Cell } from "./cell.ts";
import { type Fleet, type FleetAccount, fail } from "./fleet.ts";
import type { PartResult } from "./part-result.ts";

export interface EdgeOptions {
  accounts: readonly FleetAccount[];
  rounds: number;
  searchesPerRound: number;
}

/** Of the round trip through HAProxy compared with a direct connection to the server. */
const goals = { addedP50Ms: 0.3, cpuRatio: 1.1 };
const measured = "eu1";
const callers = 4;

interface Round {
  p50Ms: number;
  p99Ms: number;
  searches: number;
  /** Microseconds of CPU time in this round. */
  cpu: Cpu;
}

type Cpu = Record<"server" | "postgres" | "haproxy", number>;

/** Alternates between rounds to the server and rounds through HAProxy. No other load runs. */
export async function measureEdge(fleet: Fleet, { rounds, ...options }: EdgeOptions): Promise<PartResult> {
  const cell = fleet.cell(measured);
  const accounts = options.accounts.filter(({ home }) => home === measured);
  const run = (url: string): Promise<Round> => measureRound(fleet, cell, { ...options, accounts, url });
  const direct: Round[] = [];
  const edge: Round[] = [];
  // Not counted: both paths compile and open connections.
  for (const url of [cell.server.url, fleet.url]) await run(url);
  for (let round = 0; round < rounds; round += 1) {
    direct.push(await run(cell.server.url));
    edge.push(await run(fleet.url));
  }
  const added = edge.map(({ p50Ms }, index) => p50Ms - (direct[index]?.p50Ms ?? 0));
  const addedP50 = percentile(added, 50);
  const [withEdge, without] = [sumCpu(edge), sumCpu(direct)];
  const processRatio = (withEdge.server + withEdge.haproxy) / without.server;
  const cellRatio = (withEdge.server + withEdge.postgres + withEdge.haproxy) / (without.server + without.postgres);
  const describe = ({ server, postgres, haproxy }: Cpu): string =>
    `server ${server.toFixed(0)} µs, PostgreSQL ${postgres.toFixed(0)} µs, HAProxy ${haproxy.toFixed(0)} µs`;
  return {
    title: "Edge overhead",
    lines: [
      `p50 direct ${describeP50(direct)}, through HAProxy ${describeP50(edge)}; added, by round: ${Math.min(...added).toFixed(2)} to ${Math.max(...added).toFixed(2)} ms, median ${addedP50.toFixed(2)} ms (goal ${goals.addedP50Ms})`,
      `CPU per search, direct: ${describe(without)}`,
      `CPU per search, through HAProxy: ${describe(withEdge)}`,
      `CPU ratio: server and HAProxy ${processRatio.toFixed(3)}, with PostgreSQL ${cellRatio.toFixed(3)} (goal ${goals.cpuRatio})`,
      `${rounds} rounds of each, ${options.searchesPerRound} searches a round, ${callers} callers`,
    ],
    // Times depend on the machine and are reported, not asserted.
    violations: [],
  };
}

interface RoundOptions extends Omit<EdgeOptions, "rounds"> {
  url: string;
}

async function measureRound(fleet: Fleet, cell: Cell, options: RoundOptions): Promise<Round> {
  const { accounts, searchesPerRound, url } = options;
  const durationsMs: number[] = [];
  let sent = 0;
  const before = readCpu(fleet, cell);
  const call = async (): Promise<void> => {
    while (sent < searchesPerRound) {
      sent += 1;
      const wallet = accounts[sent % accounts.length] ?? fail("the cell has no accounts");
      const startMs = performance.now();
      const outcome = await sendSearch(url, { wallet, query: "postgresql advisory locks" });
      durationsMs.push(performance.now() - startMs);
      if (outcome.kind !== "answered" || outcome.status !== 200)
        fail(`a search returned ${outcome.kind === "answered" ? outcome.text : outcome.kind}`);
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
  const after = readCpu(fleet, cell);
  const cpu = mapCpu((name) => after[name] - before[name]);
  return { p50Ms: percentile(durationsMs, 50), p99Ms: percentile(durationsMs, 99), searches: durationsMs.length, cpu };
}

function readCpu({ haproxy }: Fleet, { server, postgres }: Cell): Cpu {
  const postmaster = Number(readFileSync(join(postgres.data, "postmaster.pid"), "utf8").split("\n")[0]);
  return {
    server: readCpuMicroseconds(server.process.pid() ?? fail("the server does not run")),
    haproxy: readCpuMicroseconds(haproxy.pid() ?? fail("HAProxy does not run")),
    postgres: readTreeCpuMicroseconds(postmaster),
  };
}

/** Per search. */
function sumCpu(rounds: readonly Round[]): Cpu {
  const searches = rounds.reduce((sum, round) => sum + round.searches, 0);
  return mapCpu((name) => rounds.reduce((sum, { cpu }) => sum + cpu[name], 0) / searches);
}

function mapCpu(read: (name: keyof Cpu) => number): Cpu {
  return { server: read("server"), postgres: read("postgres"), haproxy: read("haproxy") };
}

function describeP50(rounds: readonly Round[]): string {
  const values = rounds.map(({ p50Ms }) => p50Ms);
  return `${percentile(values, 50).toFixed(2)} ms (${Math.min(...values).toFixed(2)} to ${Math.max(...values).toFixed(2)})`;
}
