import { checkBill } from "./check-bill.ts";
import { driveSearches } from "./drive-searches.ts";
import { formatNumber } from "./format-table.ts";
import { inTurn } from "./in-turn.ts";
import { readCpuMicroseconds, readFamilyCpuMicroseconds } from "./read-cpu.ts";
import type { BenchOptions } from "./read-options.ts";
import { type Measured, type Rounds, reportScenario } from "./report-scenario.ts";
import { type Scenario, scenarios } from "./scenarios.ts";
import { checkSameAnswer, countAllocations, openStage, type Stage } from "./stage.ts";
import { startServers, type Target } from "./start-servers.ts";
import type { Workshop } from "./workshop.ts";

/** Whole searches over HTTP: ours against the same without billing, against other proxies, and against one transaction per step. */
export async function runSearchBench(workshop: Workshop, options: BenchOptions): Promise<Record<string, number>> {
  const stage = await openStage(workshop, options);
  try {
    console.log(`Load      wrk, 1 thread, ${options.connections} connections; an upstream that answers at once`);
    const targets = await startServers(workshop, stage.wish, options.servers);
    await checkSameAnswer(stage, targets);
    const figures: Record<string, number> = {};
    for (const name of options.only) {
      const scenario: Scenario = scenarios[name];
      const title = scenario.isHot ? scenario.title : scenario.title.replace("many", formatNumber(options.wallets));
      const rounds = await measureScenario(stage, scenario, targets);
      Object.assign(figures, reportScenario({ ...scenario, title }, rounds));
    }
    console.log(`\n${await checkBill(stage.owner, stage.answered)}`);
    return figures;
  } finally {
    await stage.owner.end();
  }
}

async function measureScenario(stage: Stage, scenario: Scenario, all: readonly Target[]): Promise<Rounds> {
  const { options } = stage;
  const targets = all.filter(({ name }) => scenario.hasPeers || (name !== "nginx" && name !== "gateway"));
  const rounds: Rounds = new Map();
  for (const target of targets)
    rounds.set(target.name, { rounds: [], allocatedKib: await warmUp(stage, scenario, target) });
  for (let round = 0; round < options.rounds; round += 1) {
    for (const target of inTurn(targets, round)) {
      rounds.get(target.name)?.rounds.push(await measureRound(stage, scenario, target, options.seconds));
    }
    const rates = [...rounds].map(([name, done]) => `${name} ${formatNumber(done.rounds.at(-1)?.perSecond ?? 0)}/s`);
    console.error(`${scenario.title}, round ${round + 1} of ${options.rounds}: ${rates.join(", ")}`);
  }
  return rounds;
}

/** Until every wallet has searched once, so that no key is new; then once more, to see what a search allocates. */
async function warmUp(stage: Stage, scenario: Scenario, target: Target): Promise<number | undefined> {
  const { warmUpSeconds, wallets } = stage.options;
  const leastAnswers = scenario.isHot ? 1 : wallets;
  for (let answers = 0; answers < leastAnswers; )
    answers += (await measureRound(stage, scenario, target, warmUpSeconds)).answers;
  if (!target.isNode) return undefined;
  let answers = 0;
  const bytes = await countAllocations(stage, target, async () => {
    answers = (await measureRound(stage, scenario, target, warmUpSeconds)).answers;
  });
  return bytes / answers / 1_024;
}

async function measureRound(stage: Stage, scenario: Scenario, target: Target, seconds: number): Promise<Measured> {
  const { workshop, wrk, keys, options, postgres } = stage;
  const serverBefore = readCpuMicroseconds(target.pid);
  const postgresBefore = readFamilyCpuMicroseconds(postgres.pid);
  const driven = await driveSearches({
    workshop,
    wrk,
    target,
    keysFile: scenario.isHot ? keys.hotFile : keys.manyFile,
    seconds,
    connections: options.connections,
    hasIdempotencyKeys: scenario.hasIdempotencyKeys,
  });
  if (target.isPaid) stage.answered += driven.answers;
  return {
    ...driven,
    serverUs: (readCpuMicroseconds(target.pid) - serverBefore) / driven.answers,
    postgresUs: target.isPaid ? (readFamilyCpuMicroseconds(postgres.pid) - postgresBefore) / driven.answers : 0,
  };
}
