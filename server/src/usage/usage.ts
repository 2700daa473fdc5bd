export { readList } from "./read-list.ts";
export {
  type AbandonedCalls,
  type Margin,
  type MarginRow,
  readAbandonedCalls,
  readMargin,
  readWalletDays,
  readWalletMargin,
  type WalletDayRow,
  type WalletMarginRow,
} from "./read-margin.ts";
export { findRequest } from "./read-requests.ts";
export { readUpstreamCosts } from "./read-upstream-costs.ts";
export { readUpstreamHours, type UpstreamDay } from "./read-upstream-hours.ts";
export { dropOldRequests, readUsageLag, recountUsage, rollUpUsage } from "./roll-up.ts";
export { readSearchDetails, type SearchDetails, type SearchLine, serializeItem } from "./search-details.ts";
export { createTally, type Tally } from "./tally.ts";
export type { Transport, UnheldRequest } from "./unheld-requests.ts";
export type { SentCall } from "./wallet-counts.ts";
