import { parseArgs } from "node:util";
import { type Micros, parseUsd } from "../lib/money.ts";
import { StartupError } from "./startup-error.ts";

export interface DevOptions {
  /** Undefined: the setting or the default. 0: any free port. */
  port: number | undefined;
  opsPort: number | undefined;
  balance: Micros;
  /** Run Debian's searx over Debian's documentation as a real upstream. */
  withSearx: boolean;
  /** Delete the data and keys of earlier starts. */
  reset: boolean;
  json: boolean;
}

export const help = `Usage: npm run dev [-- options]

Options:
  --port N         Port of the API, console and docs (default 8080; 0 for any free port)
  --ops-port N     Port of the operator console, health checks and metrics (default 9090; 0 for any free port)
  --balance 5.00   Play money in a new wallet
  --with-searx     Run searx over Debian's documentation as the upstream of the live key (Debian 12 only)
  --reset          Delete the data and keys of earlier starts; with DATABASE_URL, its data if another version created it
  --json           Print one line of JSON to stdout when ready, and everything else to stderr
  -h, --help       Show this help

Environment:
  DATABASE_URL     Superuser connection to a PostgreSQL server (default: start one)
  REDIS_URL        Redis for rate limits (default: count in the server process)
  PENNYBLACK_...   Any setting of the server, such as PENNYBLACK_SEARXNG_URL`;

export function readOptions(args: string[]): DevOptions | "help" {
  const values = parse(args);
  if (values.help) return "help";
  const balance = parseUsd(values.balance);
  if (balance === undefined) throw new StartupError("--balance must be an amount in USD such as 5.00.", 2);
  return {
    port: readPort("--port", values.port),
    opsPort: readPort("--ops-port", values["ops-port"]),
    balance,
    withSearx: values["with-searx"],
    reset: values.reset,
    json: values.json,
  };
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        port: { type: "string" },
        "ops-port": { type: "string" },
        balance: { type: "string", default: "5.00" },
        "with-searx": { type: "boolean", default: false },
        reset: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    }).values;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new StartupError(`${error.message.split(". ")[0]}. See: npm run dev -- --help`, 2);
  }
}

function readPort(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new StartupError(`${name} must be a port number from 0 to 65535.`, 2);
  return Number(text);
}
