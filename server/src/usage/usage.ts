export { type Margin, type MarginRow, readMargin } from "./read-margin.ts";
export { readUpstreamHours, type UpstreamHour } from "./read-upstream-hours.ts";
export { readUsageLag, recountUsage, rollUpUsage } from "./roll-up.ts";
export { createTally, type Tally } from "./tally.ts";
