import { parseArgs } from "node:util";
import { type Variant, variants } from "./checkout.ts";
import { type ScenarioName, scenarios } from "./scenarios.ts";

const kinds = [
  "search",
  "latency",
  "processes",
  "ledger",
  "statements",
  "footprint",
  "rank",
  "load",
  "in-flight",
  "growth",
  "reconcile",
  "restore",
  "shares",
  "charts",
] as const;

export interface BenchOptions {
  kind: (typeof kinds)[number];
  isQuick: boolean;
  rounds: number;
  seconds: number;
  warmUpSeconds: number;
  /** wrk connections. */
  connections: number;
  /** Concurrent loops that drive the batched ledger. */
  loops: number;
  wallets: number;
  /** Limits of the growth benchmark. */
  maxWallets: number;
  maxRows: number;
  /** Ledger rows of the restore benchmark. */
  ledgerRows: number;
  /** Searches of the ledger to reconcile. */
  searches: number;
  /** Requests per query of the growth benchmark. */
  requests: number;
  /** Constant rate of the load benchmark. 0 runs only the overload. */
  perSecond: number;
  /** Whether the load benchmark finds the capacity and exceeds it, and for how long. */
  isOverload: boolean;
  overloadSeconds: number;
  latencyMs: number;
  /** Searches in flight in the in-flight benchmark, and the wallets that they are spread over. */
  inFlight: number;
  owners: number;
  only: readonly ScenarioName[];
  /** Kinds of searches of the ledger benchmarks. */
  variants: readonly Variant[];
  /** Servers to run. Default: all. */
  servers: readonly string[] | undefined;
  /** Another checkout to compare with. */
  beforeFolder: string | undefined;
  /** Output folder for CPU profiles. */
  profileFolder: string | undefined;
}

export class OptionError extends Error {}

export const help = `npm run bench [-- [latency | processes | ledger | statements | footprint | rank | load | in-flight | growth | reconcile | restore | shares | charts] options]

Measures the cost of a paid search compared with the same search without billing (bare), other proxies (nginx, Portkey's
gateway) and one transaction per step (naive). Starts its own PostgreSQL, Redis, upstream and servers, and stops them at
the end. The last line of output is JSON.

  latency           latency added by billing at 20, 50 and 80% load
  processes         one, two and four servers sharing one database
  ledger            hold and capture on one wallet without HTTP, compared with pgbench and the same batches
  statements        PostgreSQL's CPU time for one hold or capture, by the number of searches in it
  footprint         WAL, table and index bytes per search, with and without an Idempotency-Key
  rank              loading the lenses; ranking without a server, compared with merging duplicates only
  load              open-loop load: a constant rate, then three times the server's capacity
  in-flight         thousands of searches in flight on one server: memory and event loop delay
  shares            CPU time by category, from the profiles in the --profile folder
  charts            draw docs/images/performance-*.svg from docs/performance/*.txt
  reconcile         hourly and full reconciliation of two ledger sizes with a window for each search, and a hot wallet
                    meanwhile
  restore           backup with pgBackRest and npm run restore-drill; needs the Debian package pgbackrest
  growth            hold and capture with up to ten million wallets and a hundred million ledger rows
  --quick           run for about a minute; too short for meaningful results
  --rounds N        rounds per server (5; quick: 2)
  --seconds S       seconds per round (5; quick: 1)
  --only NAME       run one scenario: ${Object.keys(scenarios).join(", ")}; repeatable
  --variant NAME    for statements, and for ledger with --before: ${variants.join(", ")}; repeatable
  --server NAME     run only this server and the billed one: nginx, bare, gateway, naive; repeatable
  --wallets N       number of wallets (10000; in-flight: 8); for growth, the maximum (10000000; quick: 2000)
  --rows N          maximum number of ledger rows for growth (100000000; quick: 20000), or their number for restore
                    (2000000; quick: 10000)
  --connections N   wrk connections (64), or searches in flight for in-flight (3500; quick: 200)
  --loops N         concurrent loops for ledger (500)
  --searches N      searches of the larger ledger for reconcile (1000000; quick: 100000)
  --requests N      requests per query for growth (200; quick: 20)
  --rate N          searches per second for load (500; 0: overload only), for --seconds (600; quick: 10)
  --latency MS      upstream latency for load (300)
  --no-overload     constant rate only, for load
  --before FOLDER   compare with another checkout, with its dependencies installed: its bare and billed servers, or for
                    ledger and statements its ledger and schema
  --profile FOLDER  write a V8 CPU profile of each server`;

const defaults = {
  rounds: 5,
  seconds: 5,
  warmUpSeconds: 2,
  wallets: 10_000_000,
  rows: 100_000_000,
  restoreRows: 2_000_000,
  searches: 1_000_000,
  requests: 200,
  loadSeconds: 600,
  inFlightSeconds: 30,
  inFlight: 3_500,
  overloadSeconds: 30,
};
const quick = {
  rounds: 2,
  seconds: 1,
  warmUpSeconds: 0.4,
  wallets: 2_000,
  rows: 20_000,
  restoreRows: 10_000,
  searches: 100_000,
  requests: 20,
  loadSeconds: 10,
  inFlightSeconds: 3,
  inFlight: 200,
  overloadSeconds: 10,
};

export function readOptions(args: string[]): BenchOptions | "help" {
  const { values, positionals } = parse(args);
  if (values.help) return "help";
  const [kind = "search", ...rest] = positionals;
  if (!isKind(kind) || rest.length > 0) throw new OptionError(`Unknown benchmark "${positionals.join(" ")}"`);
  const pace = values.quick ? quick : defaults;
  const secondsByKind: Partial<Record<typeof kind, number>> = {
    load: pace.loadSeconds,
    "in-flight": pace.inFlightSeconds,
  };
  const seconds = secondsByKind[kind] ?? pace.seconds;
  return {
    kind,
    isQuick: values.quick,
    rounds: parseCount("--rounds", values.rounds, pace.rounds),
    seconds: parsePositive("--seconds", values.seconds, seconds),
    warmUpSeconds: Math.min(pace.warmUpSeconds, parsePositive("--seconds", values.seconds, pace.seconds)),
    connections: parseCount("--connections", values.connections, 64),
    loops: parseCount("--loops", values.loops, 500),
    wallets: parseCount("--wallets", values.wallets, 10_000),
    maxWallets: parseCount("--wallets", values.wallets, pace.wallets),
    maxRows: parseCount("--rows", values.rows, pace.rows),
    ledgerRows: parseCount("--rows", values.rows, pace.restoreRows),
    searches: parseCount("--searches", values.searches, pace.searches),
    requests: parseCount("--requests", values.requests, pace.requests),
    perSecond: values.rate === "0" ? 0 : parsePositive("--rate", values.rate, 500),
    isOverload: !values["no-overload"],
    overloadSeconds: pace.overloadSeconds,
    latencyMs: parsePositive("--latency", values.latency, 300),
    inFlight: parseCount("--connections", values.connections, pace.inFlight),
    owners: parseCount("--wallets", values.wallets, 8),
    only: readChoices("--only", Object.keys(scenarios) as ScenarioName[], values.only),
    variants: readChoices("--variant", variants, values.variant),
    servers: values.server,
    beforeFolder: values.before,
    profileFolder: values.profile,
  };
}

function isKind(text: string): text is BenchOptions["kind"] {
  return kinds.some((kind) => kind === text);
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        quick: { type: "boolean", default: false },
        rounds: { type: "string" },
        seconds: { type: "string" },
        only: { type: "string", multiple: true },
        variant: { type: "string", multiple: true },
        server: { type: "string", multiple: true },
        wallets: { type: "string" },
        rows: { type: "string" },
        connections: { type: "string" },
        loops: { type: "string" },
        searches: { type: "string" },
        requests: { type: "string" },
        rate: { type: "string" },
        latency: { type: "string" },
        "no-overload": { type: "boolean", default: false },
        before: { type: "string" },
        profile: { type: "string" },
        help: { type: "boolean", short: "h", default: false },
      },
    });
  } catch (error) {
    if (error instanceof TypeError) throw new OptionError(error.message);
    throw error;
  }
}

function parseCount(name: string, text: string | undefined, fallback: number): number {
  const value = parsePositive(name, text, fallback);
  if (!Number.isInteger(value)) throw new OptionError(`${name} must be a whole number`);
  return value;
}

function parsePositive(name: string, text: string | undefined, fallback: number): number {
  const value = text === undefined ? fallback : Number(text);
  if (!(value > 0 && value <= 100_000_000)) throw new OptionError(`${name} must be a positive number`);
  return value;
}

/** All choices if the option is absent. */
function readChoices<Name extends string>(
  option: string,
  names: readonly Name[],
  chosen: readonly string[] | undefined,
): readonly Name[] {
  if (chosen?.some((name) => !names.some((known) => known === name)))
    throw new OptionError(`${option} must be one of ${names.join(", ")}`);
  return chosen === undefined ? names : names.filter((name) => chosen.includes(name));
}
