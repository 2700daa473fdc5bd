import { checkCharges } from "./check-charges.ts";
import { driveSearches } from "./drive-searches.ts";
import { checkSameResponse, countAllocations, type Environment, startEnvironment } from "./environment.ts";
import { formatNumber } from "./format-table.ts";
import type { Harness } from "./harness.ts";
import { readCpuMicroseconds, readTreeCpuMicroseconds } from "./read-cpu.ts";
import type { BenchOptions } from "./read-options.ts";
import { type RoundResult, type Rounds, reportScenario } from "./report-scenario.ts";
import { rotate } from "./rotate.ts";
import { type Scenario, scenarios } from "./scenarios.ts";
import { startServers, type Target } from "./start-servers.ts";

/** Searches over HTTP, compared with no billing, other proxies and one transaction per step. */
export async function runSearchBench(harness: Harness, options: BenchOptions): Promise<Record<string, number>> {
  const env = await startEnvironment(harness, options);
  try {
    console.log(`Load      wrk, 1 thread, ${options.connections} connections; instant upstream`);
    const targets = await startServers(harness, env.serverOptions, options.servers);
    await checkSameResponse(env, targets);
    const figures: Record<string, number> = {};
    for (const name of options.only) {
      const scenario: Scenario = scenarios[name];
      const title = scenario.isHot ? scenario.title : scenario.title.replace("many", formatNumber(options.wallets));
      const rounds = await measureScenario(env, scenario, targets);
      Object.assign(figures, reportScenario({ ...scenario, title }, rounds));
    }
    console.log(`\n${await checkCharges(env.owner, env.answered)}`);
    return figures;
  } finally {
    await env.owner.end();
  }
}

async function measureScenario(env: Environment, scenario: Scenario, all: readonly Target[]): Promise<Rounds> {
  const { options } = env;
  const targets = all.filter(({ name }) => scenario.hasPeers || (name !== "nginx" && name !== "gateway"));
  const rounds: Rounds = new Map();
  for (const target of targets)
    rounds.set(target.name, { rounds: [], allocatedKib: await warmUp(env, scenario, target) });
  for (let round = 0; round < options.rounds; round += 1) {
    for (const target of rotate(targets, round)) {
      rounds.get(target.name)?.rounds.push(await measureRound(env, scenario, target, options.seconds));
    }
    const rates = [...rounds].map(([name, done]) => `${name} ${formatNumber(done.rounds.at(-1)?.perSecond ?? 0)}/s`);
    console.error(`${scenario.title}, round ${round + 1} of ${options.rounds}: ${rates.join(", ")}`);
  }
  return rounds;
}

/** Runs until every wallet has searched once, so that all keys are cached, then measures allocations per search. */
async function warmUp(env: Environment, scenario: Scenario, target: Target): Promise<number | undefined> {
  const { warmUpSeconds, wallets } = env.options;
  const minAnswers = scenario.isHot ? 1 : wallets;
  for (let answers = 0; answers < minAnswers; )
    answers += (await measureRound(env, scenario, target, warmUpSeconds)).answers;
  if (!target.isNode) return undefined;
  let answers = 0;
  const bytes = await countAllocations(env, target, async () => {
    answers = (await measureRound(env, scenario, target, warmUpSeconds)).answers;
  });
  return bytes / answers / 1_024;
}

async function measureRound(
  env: Environment,
  scenario: Scenario,
  target: Target,
  seconds: number,
): Promise<RoundResult> {
  const { harness, keys, options, postgres } = env;
  const serverBefore = readCpuMicroseconds(target.pid);
  const postgresBefore = readTreeCpuMicroseconds(postgres.pid);
  const result = await driveSearches({
    harness,
    target,
    keysFile: scenario.isHot ? keys.hotFile : keys.allFile,
    seconds,
    connections: options.connections,
    hasIdempotencyKeys: scenario.hasIdempotencyKeys,
  });
  if (target.isBilled) env.answered += result.answers;
  return {
    ...result,
    serverUs: (readCpuMicroseconds(target.pid) - serverBefore) / result.answers,
    postgresUs: target.isBilled ? (readTreeCpuMicroseconds(postgres.pid) - postgresBefore) / result.answers : 0,
  };
}
