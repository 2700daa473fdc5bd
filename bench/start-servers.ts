import { randomBytes } from "node:crypto";

import { choosePort } from "../server/src/dev/choose-port.ts";
import type { DatabaseUrls } from "../server/src/dev/prepare-database.ts";
import type { Pepper } from "../server/src/keys/keys.ts";
import { ourQuestion, type Question } from "./question.ts";
import { gatewayVersion, startGateway, startPlainProxy } from "./start-peers.ts";
import type { Workshop } from "./workshop.ts";

/** In the order in which they are listed: from the least that can be done to the most. */
export const targetNames = ["nginx", "bare", "gateway", "billed", "naive"] as const;
export type TargetName = (typeof targetNames)[number];

/** What they are called where a stranger reads it. */
export const titles: Record<TargetName, string> = {
  nginx: "nginx, a plain proxy",
  bare: "bare: Fastify and undici",
  gateway: `Portkey's gateway ${gatewayVersion}`,
  billed: "billed: Pennyblack",
  naive: "naive: a transaction per step",
};

export interface Target {
  name: TargetName;
  url: string;
  pid: number;
  question: Question;
  /** Node's, so that its memory can be looked at. */
  isNode: boolean;
  /** Its answers are paid for, and the bill is checked. */
  isPaid: boolean;
}

type OwnName = Exclude<TargetName, "nginx" | "gateway">;

const scripts: Record<OwnName, string> = {
  bare: "./bare-server.ts",
  billed: "../server/src/main.ts",
  naive: "./naive-server.ts",
};

export interface ServersWish {
  urls: DatabaseUrls;
  redisUrl: string;
  upstreamUrl: string;
  pepper: Pepper;
  profileFolder?: string | undefined;
}

/** One process each, with the settings of production, and all alive at once: who does not serve, sleeps. */
export async function startServers(
  workshop: Workshop,
  wish: ServersWish,
  names: readonly string[] = targetNames,
): Promise<Target[]> {
  const targets: Target[] = [];
  for (const name of targetNames)
    if (name === "billed" || names.includes(name)) targets.push(await startAny(workshop, name, wish));
  return targets;
}

async function startAny(workshop: Workshop, name: TargetName, wish: ServersWish): Promise<Target> {
  if (name === "nginx") {
    const running = await startPlainProxy(workshop, wish.upstreamUrl);
    return { name, isNode: false, isPaid: false, question: ourQuestion, ...running };
  }
  if (name === "gateway") {
    const running = await startGateway(workshop, wish.upstreamUrl, countAllocations);
    return { name, isNode: true, isPaid: false, ...running };
  }
  return startTarget(workshop, name, wish);
}

const secret = randomBytes(32).toString("base64");
const countAllocations = ["--import", new URL("./count-allocations.ts", import.meta.url).href];

export async function startTarget(workshop: Workshop, name: OwnName, wish: ServersWish): Promise<Target> {
  const port = await choosePort({ host: "127.0.0.1" });
  const { pid } = await workshop.start({
    name: `the ${name} server ${port}`,
    program: process.execPath,
    args: [
      ...profiling(name, wish.profileFolder),
      ...countAllocations,
      new URL(scripts[name], import.meta.url).pathname,
    ],
    environment: {
      HOST: "127.0.0.1",
      PORT: String(port),
      PENNYBLACK_OPS_PORT: String(await choosePort({ host: "127.0.0.1" })),
      DATABASE_URL: wish.urls.ledger,
      PENNYBLACK_TENANT_DATABASE_URL: wish.urls.tenant,
      REDIS_URL: wish.redisUrl,
      PENNYBLACK_SEARXNG_URL: wish.upstreamUrl,
      PENNYBLACK_PUBLIC_URL: `http://127.0.0.1:${port}`,
      PENNYBLACK_SECRET: secret,
      PENNYBLACK_KEY_PEPPERS: `${wish.pepper.version}:${wish.pepper.bytes.toString("base64")}`,
      PENNYBLACK_LOG_LEVEL: "info",
      PENNYBLACK_DRAIN_MS: "0",
    },
    port,
  });
  const url = `http://127.0.0.1:${port}`;
  return { name, url, pid, question: ourQuestion, isNode: true, isPaid: name !== "bare" };
}

function profiling(name: TargetName, folder: string | undefined): string[] {
  return folder === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${folder}`, `--cpu-prof-name=${name}.cpuprofile`];
}
