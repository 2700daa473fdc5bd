import { parseArgs } from "node:util";
import { type ScenarioName, scenarios } from "./scenarios.ts";

const kinds = [
  "search",
  "latency",
  "processes",
  "ledger",
  "rank",
  "usage",
  "load",
  "growth",
  "shares",
  "charts",
] as const;

export interface BenchOptions {
  kind: (typeof kinds)[number];
  isQuick: boolean;
  rounds: number;
  seconds: number;
  warmUpSeconds: number;
  /** Connections of wrk. */
  connections: number;
  /** How many loops drive the batched ledger. */
  loops: number;
  wallets: number;
  /** How far wallets and ledger grow. */
  mostWallets: number;
  mostRows: number;
  /** Of one wallet over a year, and how often its owner asks each question about them. */
  searches: number;
  requests: number;
  /** Searches a second that are sent whatever becomes of them, and for how long; 0: only the overload. */
  perSecond: number;
  /** Whether the capacity is found and exceeded, and for how long. */
  isOverload: boolean;
  overloadSeconds: number;
  latencyMs: number;
  only: readonly ScenarioName[];
  /** Which servers are driven; undefined: all. */
  servers: readonly string[] | undefined;
  /** Where the servers leave their CPU profiles. */
  profileFolder: string | undefined;
}

export class WrongOption extends Error {}

export const help = `npm run bench [-- [latency | processes | ledger | rank | usage | load | growth | shares | charts] options]

What a paid search costs, on this machine, against the same search without billing (bare), other proxies (nginx,
Portkey's gateway) and one transaction per step (naive). Starts its own PostgreSQL, Redis, upstream and servers, and
stops them. The last line is JSON.

  latency           how much later an answer comes because it is paid for, at 20, 50 and 80 % load
  processes         one, two and four servers before one database
  ledger            hold and capture alone, without HTTP, on one wallet, against pgbench with the same batches
  rank              ranking alone, without a server, against only merging duplicates
  usage             a year of one wallet: how fast it is counted, and how fast its owner is answered
  load              searches that come whether or not the last was answered: a constant rate, then three times
                    what the server can do
  shares            where the CPU time went, from the profiles in the folder of --profile
  charts            draws docs/images/performance-*.svg from docs/performance/*.txt
  growth            hold and capture while wallets grow to ten million and the ledger to a hundred million rows
  --quick           done in a minute: good to see that it works, too short to quote
  --rounds N        of each server, in turns (5; quick: 2)
  --seconds S       of each round (5; quick: 1)
  --only NAME       one scenario: ${Object.keys(scenarios).join(", ")}; may be repeated
  --server NAME     only this server beside the billed one: nginx, bare, gateway, naive; may be repeated
  --wallets N       in the scenario of many (10000); for growth, at most (10000000; quick: 10000)
  --rows N          of the ledger, at most, for growth (100000000; quick: 100000)
  --connections N   of wrk to the server (64)
  --loops N         that hold and capture at once, for ledger (500)
  --searches N      of the wallet in a year, for usage (5000000; quick: 100000)
  --requests N      of each kind, for usage and growth (200; quick: 20)
  --rate N          searches a second, for load (500; 0: only the overload), during --seconds (600; quick: 10)
  --latency MS      of the upstream, for load (300)
  --no-overload     only the constant rate, for load
  --profile FOLDER  each server leaves a V8 CPU profile there`;

const usual = {
  rounds: 5,
  seconds: 5,
  warmUpSeconds: 2,
  wallets: 10_000_000,
  rows: 100_000_000,
  searches: 5_000_000,
  requests: 200,
  loadSeconds: 600,
  overloadSeconds: 30,
};
const quick = {
  rounds: 2,
  seconds: 1,
  warmUpSeconds: 0.4,
  wallets: 10_000,
  rows: 100_000,
  searches: 100_000,
  requests: 20,
  loadSeconds: 10,
  overloadSeconds: 10,
};

export function readOptions(args: string[]): BenchOptions | "help" {
  const { values, positionals } = parse(args);
  if (values.help) return "help";
  const [kind = "search", ...rest] = positionals;
  if (!isKind(kind) || rest.length > 0) throw new WrongOption(`There is no bench "${positionals.join(" ")}"`);
  const pace = values.quick ? quick : usual;
  const seconds = kind === "load" ? pace.loadSeconds : pace.seconds;
  return {
    kind,
    isQuick: values.quick,
    rounds: count("--rounds", values.rounds, pace.rounds),
    seconds: positive("--seconds", values.seconds, seconds),
    warmUpSeconds: Math.min(pace.warmUpSeconds, positive("--seconds", values.seconds, pace.seconds)),
    connections: count("--connections", values.connections, 64),
    loops: count("--loops", values.loops, 500),
    wallets: count("--wallets", values.wallets, 10_000),
    mostWallets: count("--wallets", values.wallets, pace.wallets),
    mostRows: count("--rows", values.rows, pace.rows),
    searches: count("--searches", values.searches, pace.searches),
    requests: count("--requests", values.requests, pace.requests),
    perSecond: values.rate === "0" ? 0 : positive("--rate", values.rate, 500),
    isOverload: !values["no-overload"],
    overloadSeconds: pace.overloadSeconds,
    latencyMs: positive("--latency", values.latency, 300),
    only: readScenarios(values.only),
    servers: values.server,
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
        profile: { type: "string" },
        help: { type: "boolean", short: "h", default: false },
      },
    });
  } catch (error) {
    if (error instanceof TypeError) throw new WrongOption(error.message);
    throw error;
  }
}

function count(name: string, text: string | undefined, otherwise: number): number {
  const value = positive(name, text, otherwise);
  if (!Number.isInteger(value)) throw new WrongOption(`${name} must be a whole number`);
  return value;
}

function positive(name: string, text: string | undefined, otherwise: number): number {
  const value = text === undefined ? otherwise : Number(text);
  if (!(value > 0 && value <= 100_000_000)) throw new WrongOption(`${name} must be a number above zero`);
  return value;
}

function readScenarios(given: readonly string[] | undefined): readonly ScenarioName[] {
  const names = Object.keys(scenarios) as ScenarioName[];
  const strange = given?.find((name) => !names.some((known) => known === name));
  if (strange !== undefined) throw new WrongOption(`--only must be one of ${names.join(", ")}`);
  return given === undefined ? names : names.filter((name) => given.includes(name));
}
