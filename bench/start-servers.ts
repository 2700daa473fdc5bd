import { randomBytes } from "node:crypto";

import { choosePort } from "../server/src/dev/choose-port.ts";
import type { DatabaseUrls } from "../server/src/dev/prepare-database.ts";
import type { Pepper } from "../server/src/keys/keys.ts";
import type { Workshop } from "./workshop.ts";

export const targetNames = ["bare", "billed", "naive"] as const;
export type TargetName = (typeof targetNames)[number];

export interface Target {
  name: TargetName;
  url: string;
  pid: number;
}

const scripts: Record<TargetName, string> = {
  bare: "./bare-server.ts",
  billed: "../server/src/main.ts",
  naive: "./naive-server.ts",
};

export interface ServersWish {
  urls: DatabaseUrls;
  redisUrl: string;
  upstreamUrl: string;
  pepper: Pepper;
  profileFolder: string | undefined;
}

/** One process each, with the settings of production, and all alive at once: who does not serve, sleeps. */
export async function startServers(workshop: Workshop, wish: ServersWish): Promise<Target[]> {
  const targets: Target[] = [];
  for (const name of targetNames) targets.push(await startTarget(workshop, name, wish));
  return targets;
}

const secret = randomBytes(32).toString("base64");

export async function startTarget(workshop: Workshop, name: TargetName, wish: ServersWish): Promise<Target> {
  const port = await choosePort({ host: "127.0.0.1" });
  const { pid } = await workshop.start({
    name: `the ${name} server`,
    program: process.execPath,
    args: [...profiling(name, wish.profileFolder), new URL(scripts[name], import.meta.url).pathname],
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
  return { name, url: `http://127.0.0.1:${port}`, pid };
}

function profiling(name: TargetName, folder: string | undefined): string[] {
  return folder === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${folder}`, `--cpu-prof-name=${name}.cpuprofile`];
}
