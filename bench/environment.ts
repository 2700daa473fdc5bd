import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { Pool } from "../server/src/db/pool.ts";
import type { Pepper } from "../server/src/keys/keys.ts";
import { findProgram } from "../tools/missing-programs.ts";
import { describeMachine, readVersion } from "./describe-machine.ts";
import type { Harness } from "./harness.ts";
import type { BenchOptions } from "./read-options.ts";
import { seedWallets } from "./seed-wallets.ts";
import { connectAsOwner, type Postgres, startPostgres } from "./start-postgres.ts";
import { startRedis } from "./start-redis.ts";
import type { ServersOptions, Target } from "./start-servers.ts";
import { startUpstream } from "./start-upstream.ts";

/** Services and seeded data shared by the benchmarks that send searches over HTTP. */
export interface Environment {
  harness: Harness;
  postgres: Postgres;
  owner: Pool;
  serverOptions: ServersOptions;
  keys: SeededKeys;
  options: BenchOptions;
  /** Searches answered by the billed servers. */
  answered: number;
}

export interface SeededKeys {
  all: readonly string[];
  allFile: string;
  hot: string;
  hotFile: string;
}

/** Starts the services, seeds wallets and prints the machine and versions. */
export async function startEnvironment(harness: Harness, options: BenchOptions): Promise<Environment> {
  console.log(describeMachine(harness.folder));
  const pepper = { version: 1, bytes: randomBytes(32) };
  const postgres = await startPostgres(harness);
  const redis = await startRedis(harness);
  const upstream = await startUpstream(harness);
  const profileFolder = options.profileFolder && resolve(options.profileFolder);
  if (profileFolder !== undefined) mkdirSync(profileFolder, { recursive: true });
  console.log(`Versions  Node ${process.versions.node}, ${describeVersions()}`);
  console.log(`Postgres  ${postgres.version} ${postgres.settings}`);
  const owner = connectAsOwner(postgres.urls);
  const keys = await seedKeys(owner, harness.folder, pepper, options.wallets);
  const beforeFolder = options.beforeFolder && resolve(options.beforeFolder);
  const urls = { urls: postgres.urls, redisUrl: redis.url, upstreamUrl: upstream.url };
  const serverOptions = { ...urls, pepper, profileFolder, beforeFolder };
  return { harness, postgres, owner, serverOptions, keys, options, answered: 0 };
}

function describeVersions(): string {
  return [
    `Redis ${readVersion("redis-server", "--version")}`,
    `nginx ${readVersion(findProgram("nginx") ?? "nginx", "-v")}`,
    `wrk ${readVersion("wrk", "-v")}`,
  ].join(", ");
}

async function seedKeys(owner: Pool, folder: string, pepper: Pepper, count: number): Promise<SeededKeys> {
  const [hot, ...others] = (await seedWallets(owner, pepper, count + 1)).map((wallet) => wallet.key);
  if (hot === undefined) throw new Error("no wallet seeded");
  const allFile = join(folder, "keys.txt");
  const hotFile = join(folder, "hot-key.txt");
  writeFileSync(allFile, others.map((key) => `${key}\n`).join(""));
  writeFileSync(hotFile, `${hot}\n`);
  // Prevents autovacuum from analyzing the seeded tables during the measurement.
  await owner.query("analyze");
  return { all: others, allFile, hot, hotFile };
}

/** Checks that our servers return the same body, so that the comparison is fair, and that the others return 200. */
export async function checkSameResponse(env: Environment, targets: readonly Target[]): Promise<void> {
  const bodies = await Promise.all(
    targets.map(async ({ name, url, request, isBilled }) => {
      const response = await fetch(url + request.path, {
        method: "POST",
        headers: {
          authorization: `Bearer ${env.keys.hot}`,
          "content-type": "application/json",
          ...request.headers,
        },
        body: request.body,
      });
      const text = await response.text();
      if (response.status !== 200) throw new Error(`${name} returned ${response.status}: ${text}`);
      if (isBilled) env.answered += 1;
      return isBilled || name === "bare" || name === "before" ? [text] : [];
    }),
  );
  if (new Set(bodies.flat()).size > 1) throw new Error("the servers return different responses to the same search");
}

/** Bytes a Node server allocated while `work` ran; see count-allocations.ts. */
export async function countAllocations(env: Environment, { pid }: Target, work: () => Promise<void>): Promise<number> {
  const file = join(env.harness.folder, `allocated-${pid}`);
  rmSync(file, { force: true });
  process.kill(pid, "SIGUSR2");
  await work();
  process.kill(pid, "SIGUSR2");
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const text = existsSync(file) ? readFileSync(file, "utf8") : "";
    if (text !== "") return Number(text);
    await wait(20);
  }
  throw new Error("the server did not report its allocations");
}
