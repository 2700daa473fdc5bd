import { parseArgs } from "node:util";
import { type Micros, parseUsd } from "../lib/money.ts";
import { CannotStart } from "./cannot-start.ts";

export interface DevOptions {
  /** Undefined: the usual one if it is free. 0: any that is free. */
  port: number | undefined;
  opsPort: number | undefined;
  balance: Micros;
  /** A real upstream: Debian's searx over Debian's documentation. */
  withSearx: boolean;
  json: boolean;
}

export const help = `npm run dev [-- options]

  --port N         where the API listens (8080, or any free port if that is taken; 0: any free port)
  --ops-port N     where health and metrics listen (9090, likewise)
  --balance 5.00   play money in the wallet
  --with-searx     a real upstream for the live key: Debian's searx over Debian's documentation (Debian 12 only)
  --json           one line of JSON on stdout when ready, everything else on stderr

DATABASE_URL     a superuser of a PostgreSQL to use instead of one that is started for you
REDIS_URL        a Redis for the limits; without it they are counted in the server
PENNYBLACK_...   any setting of the server, such as PENNYBLACK_SEARXNG_URL`;

export function readOptions(args: string[]): DevOptions | "help" {
  const values = parse(args);
  if (values.help) return "help";
  const balance = parseUsd(values.balance);
  if (balance === undefined) throw new CannotStart("--balance must be an amount in USD such as 5.00.", 2);
  return {
    port: readPort("--port", values.port),
    opsPort: readPort("--ops-port", values["ops-port"]),
    balance,
    withSearx: values["with-searx"],
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
        json: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    }).values;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new CannotStart(`${error.message.split(". ")[0]}. See: npm run dev -- --help`, 2);
  }
}

function readPort(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) throw new CannotStart(`${name} must be a port, 0 to 65535.`, 2);
  return Number(text);
}
