import { parseArgs } from "node:util";

export interface ChaosOptions {
  kind: "faults" | "failover";
  /** How often the primary is killed, for failover. */
  times: number;
  seed: number;
  /** How long faults are drawn. It goes on until there were as many searches, too. */
  minutes: number;
  searches: number;
  clients: number;
  searchesPerSecond: number;
  /** Holds are aged to live this long; undefined: the minute that they live anyway. */
  holdLifeMs: number | undefined;
  diskMib: number;
  /** How long faults rest, as a multiple of the usual. */
  calm: number;
  /** Only these kinds of faults. */
  only: readonly string[];
}

export class WrongOption extends Error {}

export const help = `npm run chaos [-- [failover] options]

A whole service on this machine, and everything that can happen to it, while clients search and write down what they see.
Then the books are compared with what they wrote. Exit code 1 and the history of the request if something does not fit.

  failover        kills the primary and nothing else, and measures how long nobody can pay
  --times N       how often, for failover (5)
  --minutes M     how long faults are drawn (10)
  --searches N    and at least until there were as many searches (0)
  --seed S        which faults, in which order (1)
  --short         two minutes in all, for CI: holds are aged to live 15 s, at most 150 searches a second, shorter rests
  --clients N     how many search at once (48; short: 24)
  --rate N        searches a second, at most (5000)
  --disk MIB      the disk of each database (3072; short: 640)
  --calm N        how long faults rest, as a multiple of the usual (1; short: 0.4)
  --only KIND     only this kind of fault; may be repeated`;

export function readOptions(args: string[]): ChaosOptions | "help" {
  const { values, positionals } = parse(args);
  if (values.help) return "help";
  const [kind = "faults", ...rest] = positionals;
  if ((kind !== "faults" && kind !== "failover") || rest.length > 0)
    throw new WrongOption(`There is no chaos "${positionals.join(" ")}"`);
  const isShort = values.short;
  return {
    kind,
    times: number("--times", values.times, 5),
    seed: number("--seed", values.seed, 1),
    minutes: number("--minutes", values.minutes, isShort ? 0.9 : 10),
    searches: number("--searches", values.searches, 0),
    clients: number("--clients", values.clients, isShort ? 24 : 48),
    searchesPerSecond: number("--rate", values.rate, isShort ? 150 : 5_000),
    holdLifeMs: isShort ? 15_000 : undefined,
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
        clients: { type: "string" },
        rate: { type: "string" },
        disk: { type: "string" },
        calm: { type: "string" },
        only: { type: "string", multiple: true },
        help: { type: "boolean", short: "h", default: false },
      },
    });
  } catch (error) {
    if (error instanceof TypeError) throw new WrongOption(error.message);
    throw error;
  }
}

function number(name: string, text: string | undefined, otherwise: number): number {
  const value = text === undefined ? otherwise : Number(text);
  if (!(value >= 0 && value < 1e9)) throw new WrongOption(`${name} must be a number`);
  return value;
}
