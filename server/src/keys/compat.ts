import { type Static, Type } from "typebox";
import { type Compat, ignorableGroups, ignorableParameters } from "../dialects/dialects.ts";
import { didYouMean, type Fault, fieldFault, listWords } from "../http/input/faults.ts";
import { textPatterns } from "../http/input/text-patterns.ts";
import { formatUsd, type Micros, parseUsd, priceMicros } from "../lib/money.ts";
import { suggest } from "../lib/suggest.ts";

// Settings of a key for the compatibility endpoints, whose clients cannot send our headers. They are stored as they were sent.

const duration = (description: string) => Type.String({ pattern: textPatterns.duration, description });

export const compatSchema = Type.Object(
  {
    ignore: Type.Optional(
      Type.Array(Type.String({ maxLength: 64 }), {
        maxItems: 20,
        uniqueItems: true,
        description:
          "Parameters to ignore instead of refusing the search: groups such as `domains` or `freshness`, or single parameters of a compatibility endpoint such as `include_domains`.",
      }),
    ),
    repeat: Type.Optional(
      duration(
        "Do not charge again for the same search within this time, such as `20m`. Applies to MCP too. At most `24h`.",
      ),
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
export function findCompatFaults({ ignore = [], repeat, run }: CompatBody): Fault[] {
  const faults = ignore.flatMap((name, index) => {
    const detail = findIgnoreFault(name);
    return detail === undefined ? [] : [fieldFault(`compat/ignore/${index}`, detail, "unknown")];
  });
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

/** A misspelled name would have no effect, and the searches that it is meant for would be refused. */
function findIgnoreFault(name: string): string | undefined {
  const known = [...ignorableGroups, ...ignorableParameters];
  if (known.includes(name)) return undefined;
  const meant = suggest(name, known);
  const hint = meant === undefined ? `; the groups are ${listWords(ignorableGroups, "and")}` : ` ${didYouMean(meant)}`;
  return `is neither a group of parameters nor a parameter that a compatibility endpoint can ignore${hint}`;
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
