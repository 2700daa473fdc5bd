import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import type { EtcdProtocol } from "../../support/patroni/control-etcd.ts";
import { lanes } from "./faults.ts";
import { failoverKinds } from "./run-failover.ts";

export interface ChaosOptions {
  kind: "faults" | "failover";
  /** How often failover injects each kind. */
  times: number;
  seed: number;
  /** The duration of fault injection. It continues until `searches` is reached. */
  minutes: number;
  searches: number;
  clients: number;
  searchesPerSecond: number;
  /** Holds are aged to expire after this time. Undefined: after the regular minute. */
  holdLifetimeMs: number | undefined;
  diskMib: number;
  /** Uses the fast profile of Patroni. */
  isFast: boolean;
  /** How long the cluster may take to recover from a fault. */
  recoveryMs: number;
  /** The protocol between Patroni and etcd. Undefined: as shipped. */
  etcd: EtcdProtocol | undefined;
  /** Multiplies the pauses between faults. */
  calm: number;
  /** Injects only these kinds of faults. */
  only: readonly string[];
}

export class InvalidOption extends Error {}

export const help = `npm run chaos [-- [failover] options]

Starts a complete service on this machine and injects faults while clients search and record every response. Then
compares the ledger with the responses. Exits with code 1 and the history of the request if they differ. If the database
does not recover, the ledger of every node is compared.

  failover        only replace the primary (PostgreSQL killed, node lost, switchover, cut off), and measure the recovery
  --times N       number of failovers of each kind (5)
  --fast          the fast profile of Patroni instead of the shipped settings (short: always)
  --minutes M     duration of fault injection (10)
  --searches N    minimum number of searches (0)
  --seed S        selects the faults and their order (random)
  --short         two minutes, for CI: holds expire after 15 s, at most 150 searches a second, shorter pauses
  --clients N     number of concurrent clients (48; short: 24)
  --rate N        maximum searches per second (5000)
  --disk MIB      disk size of each database node (3072; short: 640)
  --calm N        multiplies the pauses between faults (1; short: 0.4)
  --recovery S    seconds that the database may take to recover from a fault (180); after half of them, replicas that do
                  not stream are copied again
  --etcd v2|v3    the protocol between Patroni and etcd (as shipped)
  --only KIND     inject only this kind of fault; can be repeated`;

export function readOptions(args: string[]): ChaosOptions | "help" {
  const { values, positionals } = parse(args);
  if (values.help) return "help";
  const [kind = "faults", ...rest] = positionals;
  if ((kind !== "faults" && kind !== "failover") || rest.length > 0)
    throw new InvalidOption(`Unknown command "${positionals.join(" ")}"`);
  const isShort = values.short;
  if (values.etcd !== undefined && values.etcd !== "v2" && values.etcd !== "v3")
    throw new InvalidOption("--etcd must be v2 or v3");
  const kinds = kind === "failover" ? failoverKinds : Object.values(lanes).flatMap(Object.keys);
  const unknown = values.only?.find((each) => !kinds.includes(each));
  if (unknown !== undefined) throw new InvalidOption(`Unknown fault "${unknown}", known are: ${kinds.join(", ")}`);
  return {
    kind,
    times: number("--times", values.times, 5),
    seed: number("--seed", values.seed, randomInt(1, 1_000_000)),
    minutes: number("--minutes", values.minutes, isShort ? 0.9 : 10),
    searches: number("--searches", values.searches, 0),
    clients: number("--clients", values.clients, isShort ? 24 : 48),
    searchesPerSecond: number("--rate", values.rate, isShort ? 150 : 5_000),
    holdLifetimeMs: isShort ? 15_000 : undefined,
    isFast: values.fast || isShort,
    etcd: values.etcd,
    recoveryMs: 1_000 * number("--recovery", values.recovery, 180),
    diskMib: number("--disk", values.disk, isShort ? 640 : 3_072),
    calm: number("--calm", values.calm, isShort ? 0.4 : 1),
    only: values.only ?? [],
  };
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        times: { type: "string" },
        minutes: { type: "string" },
        searches: { type: "string" },
        seed: { type: "string" },
        short: { type: "boolean", default: false },
        fast: { type: "boolean", default: false },
        clients: { type: "string" },
        rate: { type: "string" },
        disk: { type: "string" },
        calm: { type: "string" },
        etcd: { type: "string" },
        recovery: { type: "string" },
        only: { type: "string", multiple: true },
        help: { type: "boolean", short: "h", default: false },
      },
    });
  } catch (error) {
    if (error instanceof TypeError) throw new InvalidOption(error.message);
    throw error;
  }
}

function number(name: string, text: string | undefined, fallback: number): number {
  const value = text === undefined ? fallback : Number(text);
  if (!(value >= 0 && value < 1e9)) throw new InvalidOption(`${name} must be a number`);
  return value;
}
