import { type Config, readConfig } from "../config.ts";
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

/** An option goes before a setting of the environment, and that before the usual port; only the last may be another. */
export async function chooseAddresses(options: DevOptions, environment: NodeJS.ProcessEnv): Promise<Addresses> {
  const config = readConfig(["host", "port", "opsHost", "opsPort"], environment);
  // Play money, and keys on the screen: nobody outside this machine is let in unless HOST says so.
  const host = environment["HOST"] ? config.host : "127.0.0.1";
  const port = await choosePort({
    host,
    wanted: options.port ?? named(config, "port", environment["PORT"]),
    usual: 8080,
    option: "--port",
  });
  const opsPort = await choosePort({
    host: config.opsHost,
    wanted: options.opsPort ?? named(config, "opsPort", environment["PENNYBLACK_OPS_PORT"]),
    usual: 9090,
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

/** A server that listens everywhere is reached on this machine's own address. */
function toUrl(host: string, port: number): string {
  const reachable = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}
