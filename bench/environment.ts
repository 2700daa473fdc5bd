import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { Pool } from "../server/src/db/pool.ts";
import type { Pepper } from "../server/src/keys/keys.ts";
import { describeMachine, readVersion } from "./describe-machine.ts";
import { ensureProgram } from "./ensure-program.ts";
import type { BenchOptions } from "./read-options.ts";
import { seedWallets } from "./seed-wallets.ts";
import { connectAsOwner, type Postgres, startPostgres } from "./start-postgres.ts";
import { startRedis } from "./start-redis.ts";
import type { ServersWish, Target } from "./start-servers.ts";
import { startUpstream } from "./start-upstream.ts";
import type { Workshop } from "./workshop.ts";

/** What the benches of whole searches stand on. */
export interface Stage {
  workshop: Workshop;
  wrk: string;
  postgres: Postgres;
  owner: Pool;
  wish: ServersWish;
  keys: Keys;
  options: BenchOptions;
  /** By the servers that bill. */
  answered: number;
}

export interface Keys {
  many: readonly string[];
  manyFile: string;
  hot: string;
  hotFile: string;
}

/** Machine and versions are printed first: a figure without them is worth nothing. */
export async function openStage(workshop: Workshop, options: BenchOptions): Promise<Stage> {
  console.log(describeMachine(workshop.folder));
  const wrk = ensureProgram({ name: "wrk", debianPackage: "wrk" });
  const pepper = { version: 1, bytes: randomBytes(32) };
  const postgres = await startPostgres(workshop);
  const redis = await startRedis(workshop);
  const upstream = await startUpstream(workshop);
  const profileFolder = options.profileFolder && resolve(options.profileFolder);
  if (profileFolder !== undefined) mkdirSync(profileFolder, { recursive: true });
  console.log(`Versions  Node ${process.versions.node}, ${describeVersions(wrk)}`);
  console.log(`Postgres  ${postgres.version} ${postgres.settings}`);
  const owner = connectAsOwner(postgres.urls);
  const keys = await seedKeys(owner, workshop.folder, pepper, options.wallets);
  const wish = { urls: postgres.urls, redisUrl: redis.url, upstreamUrl: upstream.url, pepper, profileFolder };
  return { workshop, wrk, postgres, owner, wish, keys, options, answered: 0 };
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

async function seedKeys(owner: Pool, folder: string, pepper: Pepper, count: number): Promise<Keys> {
  const [hot, ...others] = (await seedWallets(owner, pepper, count + 1)).map((wallet) => wallet.key);
  if (hot === undefined) throw new Error("no wallet was made");
  const manyFile = join(folder, "keys.txt");
  const hotFile = join(folder, "hot-key.txt");
  writeFileSync(manyFile, others.map((key) => `${key}\n`).join(""));
  writeFileSync(hotFile, `${hot}\n`);
  // What seeding left behind is not to be cleaned up while we measure.
  await owner.query("analyze");
  return { many: others, manyFile, hot, hotFile };
}

/** Those of ours must do the same work, or comparing them means nothing; the others must at least answer. */
export async function checkSameAnswer(stage: Stage, targets: readonly Target[]): Promise<void> {
  const bodies = await Promise.all(
    targets.map(async ({ name, url, question, isPaid }) => {
      const response = await fetch(url + question.path, {
        method: "POST",
        headers: {
          authorization: `Bearer ${stage.keys.hot}`,
          "content-type": "application/json",
          ...question.headers,
        },
        body: question.body,
      });
      const text = await response.text();
      if (response.status !== 200) throw new Error(`${name} answers ${response.status}: ${text}`);
      if (isPaid) stage.answered += 1;
      return isPaid || name === "bare" ? [text] : [];
    }),
  );
  if (new Set(bodies.flat()).size > 1) throw new Error("the servers do not give the same answer to the same search");
}

/** Bytes that a server of Node's took from its heap while that was done: see count-allocations.ts. */
export async function countAllocations(stage: Stage, { pid }: Target, work: () => Promise<void>): Promise<number> {
  const file = join(stage.workshop.folder, `allocated-${pid}`);
  rmSync(file, { force: true });
  process.kill(pid, "SIGUSR2");
  await work();
  process.kill(pid, "SIGUSR2");
  for (let look = 0; look < 200; look += 1) {
    const text = existsSync(file) ? readFileSync(file, "utf8") : "";
    if (text !== "") return Number(text);
    await wait(20);
  }
  throw new Error("the server did not say what it allocated");
}
