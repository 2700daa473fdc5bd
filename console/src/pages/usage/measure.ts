import { formatMoney } from "../../words/format-money.ts";
import { formatCount } from "../../words/format-time.ts";
import type { Count } from "./pivot.ts";

/** What the bars and the table count. */
export interface Measure {
  name: "searches" | "charged";
  format: (count: Count) => string;
  /** For an axis, where a number was made of it. */
  formatTick: (value: number) => string;
}

const plain = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

export const measures: Record<Measure["name"], Measure> = {
  searches: {
    name: "searches",
    format: ({ searches }) => formatCount(searches, "search", "searches"),
    formatTick: (value) => plain.format(value),
  },
  charged: {
    name: "charged",
    format: ({ charged }) => formatMoney(charged),
    formatTick: (value) => formatMoney(value.toFixed(2)),
  },
};
