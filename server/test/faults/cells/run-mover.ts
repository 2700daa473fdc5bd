import { readFileSync, writeSync } from "node:fs";
import { parseArgs } from "node:util";
import { type MoveOptions, moveAccount } from "../../../../deploy/fleet/move.ts";

// The mover as a process of its own, which the proof can kill. Prints "step NAME" at each step and "result JSON" at the end.
//
//   node run-mover.ts --fleet FILE --account ID --to CELL [--kill-at STEP [--after-ms N]]

const { values } = parseArgs({
  options: {
    fleet: { type: "string", default: "" },
    account: { type: "string", default: "" },
    to: { type: "string", default: "" },
    "kill-at": { type: "string" },
    "after-ms": { type: "string", default: "0" },
  },
});

const { cells, edgeSockets } = JSON.parse(readFileSync(values.fleet, "utf8")) as Pick<
  MoveOptions,
  "cells" | "edgeSockets"
>;
const result = await moveAccount({
  cells,
  ...(edgeSockets && { edgeSockets }),
  account: values.account,
  to: values.to,
  operator: "chaos",
  reason: "proof of live moves",
  hasSamePaymentAccount: true,
  onStep(step) {
    // Synchronous, so that the line is complete even if the process is killed next.
    writeSync(1, `step ${step}\n`);
    if (step !== values["kill-at"]) return;
    const afterMs = Number(values["after-ms"]);
    if (afterMs === 0) process.kill(process.pid, "SIGKILL");
    else setTimeout(() => process.kill(process.pid, "SIGKILL"), afterMs);
  },
});
writeSync(1, `result ${JSON.stringify(result)}\n`);
process.exit(0);
