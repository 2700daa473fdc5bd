export { type Margin, type MarginRow, readMargin } from "./read-margin.ts";
export { recountUsage, rollUpUsage } from "./roll-up.ts";
export { createTally, type Tally } from "./tally.ts";
