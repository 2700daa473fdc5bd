import { checkCharges } from "./check-charges.ts";
import { driveSearches } from "./drive-searches.ts";
import { type Environment, startEnvironment } from "./environment.ts";
import { formatNumber, formatTable } from "./format-table.ts";
import type { Harness } from "./harness.ts";
import { readCpuMicroseconds, readTreeCpuMicroseconds } from "./read-cpu.ts";
import type { BenchOptions } from "./read-options.ts";
import { startTarget, type Target } from "./start-servers.ts";
import { summarize } from "./summarize.ts";

// One, two and four servers sharing one database and one machine: the CPU cost of another server, and its connections.

const sizes = [1, 2, 4];

interface Round {
  perSecond: number;
  serverUs: number;
  postgresUs: number;
  p99Ms: number;
}

export async function runProcessesBench(harness: Harness, options: BenchOptions): Promise<Record<string, number>> {
  const env = await startEnvironment(harness, options);
  try {
    console.log(`Load      wrk, ${options.connections} connections shared by the servers; instant upstream`);
    const servers: Target[] = [];
    const connections: number[] = [];
    for (const size of sizes) {
      while (servers.length < size) {
        servers.push(await startTarget(harness, "billed", env.serverOptions));
        await warmUp(env, servers.slice(-1));
      }
      await driveAll(env, servers, options.warmUpSeconds);
      connections.push(await countConnections(env));
    }
    const rounds = sizes.map((): Round[] => []);
    for (let round = 0; round < options.rounds; round += 1) {
      for (const [index, size] of sizes.entries())
        rounds[index]?.push(await driveAll(env, servers.slice(0, size), options.seconds));
      console.error(`round ${round + 1} of ${options.rounds}`);
    }
    const figures = report(rounds, connections);
    console.log(`\n${await checkCharges(env.owner, env.answered)}`);
    return figures;
  } finally {
    await env.owner.end();
  }
}

/** Until every wallet has searched once, because the first use of a key costs each server a look-up. */
async function warmUp(env: Environment, servers: readonly Target[]): Promise<void> {
  const before = env.answered;
  while (env.answered - before < env.options.wallets) await driveAll(env, servers, env.options.warmUpSeconds);
}

/** Drives all servers at the same time, splitting the connections between them. */
async function driveAll(env: Environment, servers: readonly Target[], seconds: number): Promise<Round> {
  const { harness, keys, options, postgres } = env;
  const serverCpu = (): number => servers.reduce((sum, { pid }) => sum + readCpuMicroseconds(pid), 0);
  const [serverBefore, postgresBefore] = [serverCpu(), readTreeCpuMicroseconds(postgres.pid)];
  const connections = Math.max(1, Math.floor(options.connections / servers.length));
  const results = await Promise.all(
    servers.map((target) =>
      driveSearches({
        harness,
        target,
        keysFile: keys.allFile,
        seconds,
        connections,
        hasIdempotencyKeys: false,
      }),
    ),
  );
  const answers = results.reduce((sum, each) => sum + each.answers, 0);
  env.answered += answers;
  return {
    perSecond: results.reduce((sum, each) => sum + each.perSecond, 0),
    serverUs: (serverCpu() - serverBefore) / answers,
    postgresUs: (readTreeCpuMicroseconds(postgres.pid) - postgresBefore) / answers,
    p99Ms: Math.max(...results.map((each) => each.p99Ms)),
  };
}

/** Database connections of all servers after a run under full load. */
async function countConnections({ owner }: Environment): Promise<number> {
  const { rows } = await owner.query<{ count: bigint }>(
    "select count(*) from pg_stat_activity where application_name in ('pennyblack ledger', 'pennyblack tenant')",
  );
  return Number(rows[0]?.count ?? 0);
}

function report(rounds: readonly Round[][], connections: readonly number[]): Record<string, number> {
  const figures: Record<string, number> = {};
  const rows = sizes.map((size, index) => {
    const values = (figure: keyof Round): number[] => rounds[index]?.map((round) => round[figure]) ?? [];
    const rate = summarize(values("perSecond"));
    const [serverUs, postgresUs, p99Ms] = (["serverUs", "postgresUs", "p99Ms"] as const).map(
      (figure) => summarize(values(figure)).median,
    );
    figures[`per_s_of_${size}`] = Math.round(rate.median);
    figures[`cpu_us_of_${size}`] = Math.round((serverUs ?? 0) + (postgresUs ?? 0));
    const spread = `${formatNumber(rate.min)}..${formatNumber(rate.max)}`;
    const cells = [rate.median, serverUs ?? 0, postgresUs ?? 0, p99Ms ?? 0, connections[index] ?? 0].map(formatNumber);
    return [String(size), cells[0] ?? "", spread, ...cells.slice(1)];
  });
  const head = ["servers", "searches/s", "min..max", "server us", "PostgreSQL us", "p99 ms", "connections"];
  console.log(`\n${formatTable(head, rows)}`);
  return figures;
}
