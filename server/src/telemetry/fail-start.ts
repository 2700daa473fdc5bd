import { createLog } from "./log.ts";

/** Logs why this process cannot start, regardless of the configured log level, and exits. */
export function failStart(faults: string | readonly string[]): never {
  createLog("fatal").fatal({ faults: [faults].flat() }, "cannot start");
  process.exit(1);
}

/** Logs an unhandled error, regardless of the configured log level, and exits, because the state of the process is unknown. */
export function crash(err: unknown, message: string): never {
  createLog("fatal").fatal({ err }, message);
  process.exit(1);
}
