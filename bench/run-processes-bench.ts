import { checkBill } from "./check-bill.ts";
import { driveSearches } from "./drive-searches.ts";
import { formatNumber, formatTable } from "./format-table.ts";
import { readCpuMicroseconds, readFamilyCpuMicroseconds } from "./read-cpu.ts";
import type { BenchOptions } from "./read-options.ts";
import { openStage, type Stage } from "./stage.ts";
import { startTarget, type Target } from "./start-servers.ts";
import { summarize } from "./summarize.ts";
import type { Workshop } from "./workshop.ts";

// One database, and one, two or four servers before it that share the machine: what a node more costs, and how many
// connections it takes.

const sizes = [1, 2, 4];

interface Round {
  perSecond: number;
  serverUs: number;
  postgresUs: number;
  p99Ms: number;
}

export async function runProcessesBench(workshop: Workshop, options: BenchOptions): Promise<Record<string, number>> {
  const stage = await openStage(workshop, options);
  try {
    console.log(
      `Load      wrk, ${options.connections} connections shared by the servers; an upstream that answers at once`,
    );
    const servers: Target[] = [];
    const connections: number[] = [];
    for (const size of sizes) {
      while (servers.length < size) servers.push(await startTarget(workshop, "billed", stage.wish));
      await driveAll(stage, servers, options.warmUpSeconds);
      connections.push(await countConnections(stage));
    }
    const rounds = sizes.map((): Round[] => []);
    for (let round = 0; round < options.rounds; round += 1) {
      for (const [index, size] of sizes.entries())
        rounds[index]?.push(await driveAll(stage, servers.slice(0, size), options.seconds));
      console.error(`round ${round + 1} of ${options.rounds}`);
    }
    const figures = report(rounds, connections);
    console.log(`\n${await checkBill(stage.owner, stage.answered)}`);
    return figures;
  } finally {
    await stage.owner.end();
  }
}

/** Each server by its own share of the connections, at the same time. */
async function driveAll(stage: Stage, servers: readonly Target[], seconds: number): Promise<Round> {
  const { workshop, wrk, keys, options, postgres } = stage;
  const serverCpu = (): number => servers.reduce((sum, { pid }) => sum + readCpuMicroseconds(pid), 0);
  const [serverBefore, postgresBefore] = [serverCpu(), readFamilyCpuMicroseconds(postgres.pid)];
  const connections = Math.max(1, Math.floor(options.connections / servers.length));
  const driven = await Promise.all(
    servers.map((target) =>
      driveSearches({
        workshop,
        wrk,
        target,
        keysFile: keys.manyFile,
        seconds,
        connections,
        hasIdempotencyKeys: false,
      }),
    ),
  );
  const answers = driven.reduce((sum, each) => sum + each.answers, 0);
  stage.answered += answers;
  return {
    perSecond: driven.reduce((sum, each) => sum + each.perSecond, 0),
    serverUs: (serverCpu() - serverBefore) / answers,
    postgresUs: (readFamilyCpuMicroseconds(postgres.pid) - postgresBefore) / answers,
    p99Ms: Math.max(...driven.map((each) => each.p99Ms)),
  };
}

/** Of all servers to the database, at the end of a run under full load. */
async function countConnections({ owner }: Stage): Promise<number> {
  const { rows } = await owner.query<{ count: bigint }>(
    "select count(*) from pg_stat_activity where application_name in ('pennyblack ledger', 'pennyblack tenant')",
  );
  return Number(rows[0]?.count ?? 0);
}

function report(rounds: readonly Round[][], connections: readonly number[]): Record<string, number> {
  const figures: Record<string, number> = {};
  const rows = sizes.map((size, index) => {
    const of = (figure: keyof Round): number[] => rounds[index]?.map((round) => round[figure]) ?? [];
    const rate = summarize(of("perSecond"));
    const [serverUs, postgresUs, p99Ms] = (["serverUs", "postgresUs", "p99Ms"] as const).map(
      (figure) => summarize(of(figure)).median,
    );
    figures[`per_s_of_${size}`] = Math.round(rate.median);
    figures[`cpu_us_of_${size}`] = Math.round((serverUs ?? 0) + (postgresUs ?? 0));
    const spread = `${formatNumber(rate.least)}..${formatNumber(rate.most)}`;
    const cells = [rate.median, serverUs ?? 0, postgresUs ?? 0, p99Ms ?? 0, connections[index] ?? 0].map(formatNumber);
    return [String(size), cells[0] ?? "", spread, ...cells.slice(1)];
  });
  const head = ["servers", "searches/s", "min..max", "server us", "PostgreSQL us", "p99 ms", "connections"];
  console.log(`\n${formatTable(head, rows)}`);
  return figures;
}
