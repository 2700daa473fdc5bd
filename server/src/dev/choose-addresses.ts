import { readConfig } from "../config/config.ts";
import { adapters } from "../providers/providers.ts";
import { choosePort, isPortFree } from "./choose-port.ts";
import type { DevOptions } from "./read-options.ts";
import { StartupError } from "./startup-error.ts";

export interface Addresses {
  host: string;
  port: number;
  opsHost: string;
  opsPort: number;
  workerOpsPort: number;
  url: string;
  opsUrl: string;
  workerOpsUrl: string;
}

interface RequestedPort {
  host: string;
  port: number;
  /** The option and the setting that change it, for the error message. */
  option: string;
  setting: string;
}

/** A command-line option overrides the environment, which overrides the default. */
export async function chooseAddresses(options: DevOptions, environment: NodeJS.ProcessEnv): Promise<Addresses> {
  const config = readConfig(adapters, ["host", "port", "opsHost", "opsPort"], environment);
  // Keys are printed on the screen, so listen on localhost only unless HOST is set.
  const host = environment["HOST"] ? config.host : "127.0.0.1";
  const [port = 0, opsPort = 0] = await claimPorts([
    { host, port: options.port ?? config.port, option: "--port", setting: "PORT" },
    {
      host: config.opsHost,
      port: options.opsPort ?? config.opsPort,
      option: "--ops-port",
      setting: "PENNYBLACK_OPS_PORT",
    },
  ]);
  const workerOpsPort = await choosePort({ host: config.opsHost });
  return {
    host,
    port,
    opsHost: config.opsHost,
    opsPort,
    workerOpsPort,
    url: toUrl(host, port),
    opsUrl: toUrl(config.opsHost, opsPort),
    workerOpsUrl: toUrl(config.opsHost, workerOpsPort),
  };
}

/** Port 0 is any free port. A port in use is an error, because the user would not find the service on another one. */
async function claimPorts(requested: readonly RequestedPort[]): Promise<number[]> {
  const checked = await Promise.all(
    requested.map(async (each) => ({ ...each, isTaken: each.port !== 0 && !(await isPortFree(each.host, each.port)) })),
  );
  const taken = checked.filter(({ isTaken }) => isTaken);
  if (taken.length === 0) return Promise.all(requested.map(async ({ host, port }) => port || choosePort({ host })));
  const ports = taken.map(({ port }) => port).join(" and ");
  const settings = taken.map(({ option, setting }) => `${option} or ${setting}`).join(", and ");
  const free = await Promise.all(
    taken.map(async ({ option, host, port }) => `${option} ${await nextFree(host, port)}`),
  );
  throw new StartupError(
    `${taken.length === 1 ? `Port ${ports} is` : `Ports ${ports} are`} in use, perhaps by another npm run dev. ` +
      `Choose another with ${settings}: npm run dev -- ${free.join(" ")}`,
  );
}

async function nextFree(host: string, taken: number): Promise<number> {
  for (let port = taken + 1; port < Math.min(taken + 100, 65_536); port += 1) {
    if (await isPortFree(host, port)) return port;
  }
  return 0;
}

/** A wildcard address is replaced by localhost. */
function toUrl(host: string, port: number): string {
  const reachable = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}
