import type { UsageGroup } from "../../api/usage-group.ts";
import { parseTimeRange, type TimeRange, timeRanges } from "./time-range.ts";

/** The filters of the page, from the parameters of its URL. */
export interface UsageView {
  range: TimeRange;
  ranges: readonly { value: TimeRange; label: string }[];
  days: number;
  by: "hour" | "day";
  group: UsageGroup | undefined;
  /** Only searches for this end user. */
  endUser: string | undefined;
}

const groups = ["key", "category", "outcome", "end_user"] as const;
/** Usage by end user is counted by day and stored for 90 days. */
const endUserRanges = timeRanges.filter(({ days }) => days > 1 && days <= 90);

export function parseView(search: {
  span?: string | undefined;
  by?: string | undefined;
  group?: string | undefined;
  for?: string | undefined;
}): UsageView {
  const endUser = search.for !== undefined && isEndUser(search.for) ? search.for : undefined;
  // The lines of a filtered report have the stored id too, for the CSV.
  const group = endUser === undefined ? groups.find((name) => name === search.group) : "end_user";
  const ranges = group === "end_user" ? endUserRanges : timeRanges;
  const range = ranges.find(({ value }) => value === search.span)?.value;
  return { ...parseTimeRange(range, group === "end_user" ? "day" : search.by), ranges, group, endUser };
}

/** Whether the text is an id as in `Search-For`, or the hash of one. */
export function isEndUser(text: string): boolean {
  return /^[\w.:@/+=|-]{1,64}$/.test(text) || /^~[\w-]{22}$/.test(text);
}
