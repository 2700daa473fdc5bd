import type { Search } from "@pennyblack/sdk";
import type { UsageGroup } from "../../api/usage-group.ts";
import type { Mode } from "../../api/wallet.ts";
import { formatMoney, toNumber } from "../../format/format-money.ts";
import { formatCount } from "../../format/format-time.ts";
import type { Count } from "./pivot.ts";

export interface Measure {
  name: "searches" | "charged" | "refusals" | "replays";
  label: string;
  /** The requests counted in a figure. */
  kind: Search["kind"];
  numberOf: (count: Count) => number;
  format: (count: Count) => string;
  formatTick: (value: number) => string;
  /** Smallest distance between ticks. */
  minStep: number;
}

const plain = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const whole = { formatTick: (value: number) => plain.format(value), minStep: 1 };

export const measures: Record<Measure["name"], Measure> = {
  searches: {
    name: "searches",
    label: "Searches",
    kind: "search",
    numberOf: ({ searches }) => searches,
    format: ({ searches }) => formatCount(searches, "search", "searches"),
    ...whole,
  },
  charged: {
    name: "charged",
    label: "Charged",
    kind: "search",
    numberOf: ({ charged }) => toNumber(charged),
    format: ({ charged }) => formatMoney(charged),
    formatTick: (value) => formatMoney(value.toFixed(2)),
    minStep: 0.01,
  },
  refusals: {
    name: "refusals",
    label: "Refusals",
    kind: "refused",
    numberOf: ({ refusals }) => refusals,
    format: ({ refusals }) => formatCount(refusals, "refusal", "refusals"),
    ...whole,
  },
  replays: {
    name: "replays",
    label: "Replays",
    kind: "replayed",
    numberOf: ({ replays }) => replays,
    format: ({ replays }) => formatCount(replays, "replay", "replays"),
    ...whole,
  },
};

/** Test searches are free, and refusals and replays are not counted by end user. */
export function measuresOf(mode: Mode, group: UsageGroup | undefined): Measure["name"][] {
  const names: Measure["name"][] = mode === "live" ? ["searches", "charged"] : ["searches"];
  return group === "end_user" ? names : [...names, "refusals", "replays"];
}
