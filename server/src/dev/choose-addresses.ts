import { type Config, readConfig } from "../config/config.ts";
import { choosePort } from "./choose-port.ts";
import type { DevOptions } from "./read-options.ts";

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

/** A command-line option overrides the environment, which overrides the default. Only a default port may be replaced. */
export async function chooseAddresses(options: DevOptions, environment: NodeJS.ProcessEnv): Promise<Addresses> {
  const config = readConfig(["host", "port", "opsHost", "opsPort"], environment);
  // Keys are printed on the screen, so listen on localhost only unless HOST is set.
  const host = environment["HOST"] ? config.host : "127.0.0.1";
  const port = await choosePort({
    host,
    requested: options.port ?? named(config, "port", environment["PORT"]),
    preferred: 8080,
    option: "--port",
  });
  const opsPort = await choosePort({
    host: config.opsHost,
    requested: options.opsPort ?? named(config, "opsPort", environment["PENNYBLACK_OPS_PORT"]),
    preferred: 9090,
    option: "--ops-port",
  });
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

function named(config: Pick<Config, "port" | "opsPort">, name: "port" | "opsPort", text?: string): number | undefined {
  return text?.trim() ? config[name] : undefined;
}

/** A wildcard address is replaced by localhost. */
function toUrl(host: string, port: number): string {
  const reachable = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}
