import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Pool } from "../server/src/db/pool.ts";
import { checkBill } from "./check-bill.ts";
import { describeMachine, readVersion } from "./describe-machine.ts";
import { type Driven, driveSearches } from "./drive-searches.ts";
import { ensureProgram } from "./ensure-program.ts";
import { formatNumber } from "./format-table.ts";
import { readCpuMicroseconds, readFamilyCpuMicroseconds } from "./read-cpu.ts";
import type { BenchOptions } from "./read-options.ts";
import { type Measured, reportScenario } from "./report-scenario.ts";
import { type Scenario, scenarios } from "./scenarios.ts";
import { seedWallets } from "./seed-wallets.ts";
import { connectAsOwner, type Postgres, startPostgres } from "./start-postgres.ts";
import { startRedis } from "./start-redis.ts";
import { startServers, type Target, type TargetName } from "./start-servers.ts";
import { startUpstream } from "./start-upstream.ts";
import type { Workshop } from "./workshop.ts";

const pepper = { version: 1, bytes: randomBytes(32) };

/** Whole searches over HTTP: ours against the same without billing, and against one transaction per step. */
export async function runSearchBench(workshop: Workshop, options: BenchOptions): Promise<Record<string, number>> {
  console.log(describeMachine(workshop.folder));
  const wrk = ensureProgram({ name: "wrk", debianPackage: "wrk" });
  const postgres = await startPostgres(workshop);
  const owner = connectAsOwner(postgres.urls);
  try {
    const targets = await startEverything(workshop, postgres, options);
    console.log(`Versions  Node ${process.versions.node}, ${describeVersions(wrk)}`);
    console.log(`Postgres  ${postgres.version} ${postgres.settings}`);
    console.log(`Load      wrk, 1 thread, ${options.connections} connections; an upstream that answers at once`);
    const keys = await seedKeys(owner, workshop.folder, options.wallets);
    const bench: Bench = { workshop, wrk, targets, postgres, keys, options, answered: 0 };
    await checkSameAnswer(bench);
    const figures: Record<string, number> = {};
    for (const name of options.only) {
      const scenario: Scenario = scenarios[name];
      const title = scenario.isHot ? scenario.title : scenario.title.replace("many", formatNumber(options.wallets));
      Object.assign(figures, reportScenario({ ...scenario, title }, await measureScenario(bench, scenario)));
    }
    console.log(`\n${await checkBill(owner, bench.answered)}`);
    return figures;
  } finally {
    await owner.end();
  }
}

interface Bench {
  workshop: Workshop;
  wrk: string;
  targets: Target[];
  postgres: Postgres;
  keys: Keys;
  options: BenchOptions;
  /** By the servers that bill. */
  answered: number;
}

async function startEverything(workshop: Workshop, postgres: Postgres, options: BenchOptions): Promise<Target[]> {
  const redis = await startRedis(workshop);
  const upstream = await startUpstream(workshop);
  const profileFolder = options.profileFolder && resolve(options.profileFolder);
  if (profileFolder !== undefined) mkdirSync(profileFolder, { recursive: true });
  return startServers(workshop, {
    urls: postgres.urls,
    redisUrl: redis.url,
    upstreamUrl: upstream.url,
    pepper,
    profileFolder,
  });
}

function describeVersions(wrk: string): string {
  const redis = ensureProgram({ name: "redis-server", debianPackage: "redis-server" });
  const nginx = ensureProgram({ name: "nginx", debianPackage: "nginx-light" });
  return [
    `Redis ${readVersion(redis, "--version")}`,
    `nginx ${readVersion(nginx, "-v")}`,
    `wrk ${readVersion(wrk, "-v")}`,
  ].join(", ");
}

interface Keys {
  manyFile: string;
  hotFile: string;
  one: string;
}

async function seedKeys(owner: Pool, folder: string, count: number): Promise<Keys> {
  const [hot, ...many] = await seedWallets(owner, pepper, count + 1);
  if (hot === undefined) throw new Error("no wallet was made");
  const manyFile = join(folder, "keys.txt");
  const hotFile = join(folder, "hot-key.txt");
  writeFileSync(manyFile, many.map((wallet) => `${wallet.key}\n`).join(""));
  writeFileSync(hotFile, `${hot.key}\n`);
  // What seeding left behind is not to be cleaned up while we measure.
  await owner.query("analyze");
  return { manyFile, hotFile, one: hot.key };
}

/** The three must do the same work, or comparing them means nothing. */
async function checkSameAnswer(bench: Bench): Promise<void> {
  const bodies = await Promise.all(
    bench.targets.map(async ({ name, url }) => {
      const response = await fetch(`${url}/v1/search`, {
        method: "POST",
        headers: { authorization: `Bearer ${bench.keys.one}`, "content-type": "application/json" },
        body: JSON.stringify({ query: "advisory locks", n: 10 }),
      });
      if (response.status !== 200) throw new Error(`${name} answers ${response.status}: ${await response.text()}`);
      if (name !== "bare") bench.answered += 1;
      return response.text();
    }),
  );
  if (new Set(bodies).size !== 1) throw new Error("the servers do not give the same answer to the same search");
}

async function measureScenario(bench: Bench, scenario: Scenario): Promise<Record<TargetName, Measured[]>> {
  const { options, targets } = bench;
  const rounds: Record<TargetName, Measured[]> = { bare: [], billed: [], naive: [] };
  for (const target of targets) await measureRound(bench, scenario, target, options.warmUpSeconds);
  for (let round = 0; round < options.rounds; round += 1) {
    // Each comes first in turn, so that nobody always meets what his neighbour left behind.
    const first = round % targets.length;
    for (const target of [...targets.slice(first), ...targets.slice(0, first)]) {
      rounds[target.name].push(await measureRound(bench, scenario, target, options.seconds));
    }
    const rates = targets.map(({ name }) => `${name} ${formatNumber(rounds[name].at(-1)?.perSecond ?? 0)}/s`);
    console.error(`${scenario.title}, round ${round + 1} of ${options.rounds}: ${rates.join(", ")}`);
  }
  return rounds;
}

async function measureRound(bench: Bench, scenario: Scenario, target: Target, seconds: number): Promise<Measured> {
  const { workshop, wrk, keys, options, postgres } = bench;
  const serverBefore = readCpuMicroseconds(target.pid);
  const postgresBefore = readFamilyCpuMicroseconds(postgres.pid);
  const driven: Driven = await driveSearches({
    workshop,
    wrk,
    url: target.url,
    keysFile: scenario.isHot ? keys.hotFile : keys.manyFile,
    seconds,
    connections: options.connections,
    hasIdempotencyKeys: scenario.hasIdempotencyKeys,
  });
  if (target.name !== "bare") bench.answered += driven.answers;
  return {
    ...driven,
    serverUs: (readCpuMicroseconds(target.pid) - serverBefore) / driven.answers,
    postgresUs: (readFamilyCpuMicroseconds(postgres.pid) - postgresBefore) / driven.answers,
  };
}
