import { formatMoney } from "../../format/format-money.ts";
import { formatCount } from "../../format/format-time.ts";
import type { Count } from "./pivot.ts";

export interface Measure {
  name: "searches" | "charged";
  format: (count: Count) => string;
  formatTick: (value: number) => string;
  /** Smallest distance between ticks. */
  minStep: number;
}

const plain = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

export const measures: Record<Measure["name"], Measure> = {
  searches: {
    name: "searches",
    format: ({ searches }) => formatCount(searches, "search", "searches"),
    formatTick: (value) => plain.format(value),
    minStep: 1,
  },
  charged: {
    name: "charged",
    format: ({ charged }) => formatMoney(charged),
    formatTick: (value) => formatMoney(value.toFixed(2)),
    minStep: 0.01,
  },
};
