import { createLog } from "./log.ts";

/** Logs why this process cannot start, whatever the configured log level, and exits. */
export function failStart(faults: string | readonly string[]): never {
  createLog("fatal").fatal({ faults: [faults].flat() }, "cannot start");
  process.exit(1);
}
