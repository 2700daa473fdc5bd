import { type Static, Type } from "typebox";
import { type Fault, fieldFault } from "../http/faults.ts";
import { textPatterns } from "../http/text-patterns.ts";
import { formatUsd, type Micros, parseUsd, priceMicros } from "../lib/money.ts";

// Settings of a key for the compatibility endpoints, whose clients cannot send our headers. They are stored as they were sent.

/** The settings, as a search uses them. */
export interface Compat {
  /** Parameters that are ignored instead of refused. */
  ignore: readonly string[];
  /** A repeated search within this time is not charged again. */
  repeatSeconds?: number;
  /** The budget of every run that a client names. */
  run?: { maxMicros: Micros; ttlSeconds: number };
}

const duration = (description: string) => Type.String({ pattern: textPatterns.duration, description });

export const compatSchema = Type.Object(
  {
    ignore: Type.Optional(
      Type.Array(Type.String({ pattern: textPatterns.parameterName }), {
        maxItems: 20,
        uniqueItems: true,
        description:
          "Parameters to ignore where a search with them would be refused, such as `domains` or `freshness`.",
      }),
    ),
    repeat: Type.Optional(
      duration("Do not charge again for the same search within this time, such as `20m`. At most `24h`."),
    ),
    run: Type.Optional(
      Type.Object(
        {
          max: Type.String({ pattern: textPatterns.usd, description: "Budget of a run in USD, at least 0.01." }),
          ttl: duration("How long a run lasts, such as `1h`. At most `30d`."),
        },
        {
          additionalProperties: false,
          title: "CompatRun",
          description: "Budget of every run that a client names. Without it, searches have no run.",
        },
      ),
    ),
  },
  {
    additionalProperties: false,
    title: "KeyCompat",
    description: "Settings for the compatibility endpoints, whose clients cannot send our headers.",
  },
);

export type CompatBody = Static<typeof compatSchema>;

const daySeconds = 86_400;

/** Faults that the schema does not find. */
export function findCompatFaults({ repeat, run }: CompatBody): Fault[] {
  const faults: Fault[] = [];
  const checkDuration = (path: string, text: string | undefined, maxSeconds: number, longest: string): void => {
    const seconds = text === undefined ? 1 : readSeconds(text);
    if (seconds < 1 || seconds > maxSeconds)
      faults.push(fieldFault(path, `must be from \`1s\` to \`${longest}\``, "out_of_range"));
  };
  checkDuration("compat/repeat", repeat, daySeconds, "24h");
  checkDuration("compat/run/ttl", run?.ttl, 30 * daySeconds, "30d");
  if (run && readUsd(run.max) < priceMicros) {
    const price = formatUsd(priceMicros);
    faults.push(fieldFault("compat/run/max", `must be at least ${price} USD, the price of a search`, "out_of_range"));
  }
  return faults;
}

export function toCompat({ ignore = [], repeat, run }: CompatBody): Compat {
  return {
    ignore,
    ...(repeat !== undefined && { repeatSeconds: readSeconds(repeat) }),
    ...(run && { run: { maxMicros: readUsd(run.max), ttlSeconds: readSeconds(run.ttl) } }),
  };
}

const unitSeconds: Record<string, number> = { s: 1, m: 60, h: 3_600, d: daySeconds };

/** The text matches textPatterns.duration. */
function readSeconds(text: string): number {
  return Number(text.slice(0, -1)) * (unitSeconds[text.slice(-1)] ?? Number.NaN);
}

/** The text matches textPatterns.usd. */
function readUsd(text: string): Micros {
  return parseUsd(text) ?? 0n;
}
