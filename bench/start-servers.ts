import { pathToFileURL } from "node:url";
import { choosePort } from "../server/src/dev/choose-port.ts";
import type { DatabaseUrls } from "../server/src/dev/prepare-database.ts";
import type { Pepper } from "../server/src/keys/keys.ts";
import { replaceConstants } from "../server/test/support/replace-constants.ts";
import { type BenchRequest, searchRequest } from "./bench-request.ts";
import type { Harness } from "./harness.ts";
import { secret } from "./seed-wallets.ts";
import { gatewayVersion, startGateway, startPlainProxy } from "./start-peers.ts";

/** In display order. */
export const targetNames = ["nginx", "bare", "gateway", "billed", "naive"] as const;
export type TargetName = (typeof targetNames)[number] | "before" | "billedBefore";

/** Display names. */
export const titles: Record<TargetName, string> = {
  nginx: "nginx, a plain proxy",
  bare: "bare: Fastify and undici",
  gateway: `Portkey's gateway ${gatewayVersion}`,
  billed: "billed: Pennyblack",
  naive: "naive: a transaction per step",
  before: "bare, of another checkout",
  billedBefore: "billed, of another checkout",
};

export interface Target {
  name: TargetName;
  url: string;
  pid: number;
  request: BenchRequest;
  /** Whether allocations can be measured. */
  isNode: boolean;
  /** Whether its searches are charged and the charges checked. */
  isBilled: boolean;
}

type ServerName = Exclude<TargetName, "nginx" | "gateway">;

const scripts: Record<ServerName, string> = {
  bare: "./bare-server.ts",
  billed: "../server/src/main.ts",
  naive: "./naive-server.ts",
  before: "./bare-server.ts",
  billedBefore: "../server/src/main.ts",
};

export interface ServersOptions {
  urls: DatabaseUrls;
  redisUrl: string;
  upstreamUrl: string;
  pepper: Pepper;
  profileFolder?: string | undefined;
  /** Another checkout, whose servers are measured beside ours. Its billed server must accept our schema. */
  beforeFolder?: string | undefined;
  /** A module to import first. Default: count-allocations.ts. */
  preload?: URL;
}

/** Starts one process per server with production settings. All run at once; those not under test are idle. */
export async function startServers(
  harness: Harness,
  options: ServersOptions,
  names: readonly string[] = targetNames,
): Promise<Target[]> {
  const targets: Target[] = [];
  for (const name of targetNames)
    if (name === "billed" || names.includes(name)) targets.push(await startByName(harness, name, options));
  if (options.beforeFolder !== undefined)
    for (const name of ["before", "billedBefore"] as const) targets.push(await startTarget(harness, name, options));
  return targets;
}

async function startByName(harness: Harness, name: TargetName, options: ServersOptions): Promise<Target> {
  if (name === "nginx") {
    const running = await startPlainProxy(harness, options.upstreamUrl);
    return { name, isNode: false, isBilled: false, request: searchRequest, ...running };
  }
  if (name === "gateway") {
    const running = await startGateway(harness, options.upstreamUrl, countAllocations);
    return { name, isNode: true, isBilled: false, ...running };
  }
  return startTarget(harness, name, options);
}

const countAllocations = ["--import", new URL("./count-allocations.ts", import.meta.url).href];

export async function startTarget(harness: Harness, name: ServerName, options: ServersOptions): Promise<Target> {
  const port = await choosePort({ host: "127.0.0.1" });
  const isBare = name === "bare" || name === "before";
  const isOther = name === "before" || name === "billedBefore";
  const bench = isOther ? pathToFileURL(`${options.beforeFolder}/bench/`) : import.meta.url;
  const { pid } = await harness.start({
    name: `the ${name} server ${port}`,
    program: process.execPath,
    args: [
      ...profiling(name, options.profileFolder),
      ...(options.preload ? ["--import", options.preload.href] : countAllocations),
      new URL(scripts[name], bench).pathname,
    ],
    env: {
      HOST: "127.0.0.1",
      PORT: String(port),
      PENNYBLACK_OPS_PORT: String(await choosePort({ host: "127.0.0.1" })),
      DATABASE_URL: options.urls.ledger,
      PENNYBLACK_TENANT_DATABASE_URL: options.urls.tenant,
      REDIS_URL: options.redisUrl,
      PENNYBLACK_SEARXNG_URL: options.upstreamUrl,
      PENNYBLACK_PUBLIC_URL: `http://127.0.0.1:${port}`,
      PENNYBLACK_SECRET: secret,
      PENNYBLACK_KEY_PEPPERS: `${options.pepper.version}:${options.pepper.bytes.toString("base64")}`,
      PENNYBLACK_LOG_LEVEL: "info",
      ...replaceConstants({ drainMs: 0 }),
    },
    port,
  });
  const url = `http://127.0.0.1:${port}`;
  return { name, url, pid, request: searchRequest, isNode: true, isBilled: !isBare };
}

function profiling(name: TargetName, folder: string | undefined): string[] {
  return folder === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${folder}`, `--cpu-prof-name=${name}.cpuprofile`];
}
