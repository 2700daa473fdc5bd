import { type Static, Type } from "typebox";
import { findAmountFaults } from "../http/input/budget-amount.ts";
import type { Fault } from "../http/input/faults.ts";
import { textPatterns } from "../http/input/text-patterns.ts";
import type { MaxRun } from "../lib/max-run.ts";
import { formatUsd, parseUsd } from "../lib/money.ts";

/** The form in which it is stored and returned. */
export interface MaxRunBody {
  max: string;
  required: boolean;
}

export const newMaxRunSchema = Type.Object(
  {
    max: Type.String({
      pattern: textPatterns.usd,
      description: "The largest `max` of a run that a search can name, in USD, at least 0.01.",
    }),
    required: Type.Optional(Type.Boolean({ default: false, description: "Whether every search must name a run." })),
  },
  {
    additionalProperties: false,
    title: "NewMaxRun",
    description:
      "Limits the runs that searches of a live or test key can name in `Search-Run`. A search with a larger `max`, or without a run if one is required, gets 400. Null for no limit. A change replaces both fields.",
  },
);

export const maxRunSchema = Type.Object(
  {
    max: Type.String({
      pattern: "^\\d+\\.\\d{2,6}$",
      description: "The largest `max` of a run that a search can name, in USD.",
    }),
    required: Type.Boolean({ description: "Whether every search must name a run." }),
  },
  { title: "MaxRun" },
);

type NewMaxRun = Static<typeof newMaxRunSchema>;

export function findMaxRunFaults(maxRun: NewMaxRun): Fault[] {
  return findAmountFaults("max_run/max", maxRun.max);
}

/** `maxRun` has no faults. */
export function normalizeMaxRun({ max, required = false }: NewMaxRun): MaxRunBody {
  return { max: formatUsd(parseUsd(max) ?? 0n), required };
}

export function toMaxRun({ max, required }: MaxRunBody): MaxRun {
  return { maxMicros: parseUsd(max) ?? 0n, isRequired: required };
}
