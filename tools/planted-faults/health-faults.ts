import type { PlantedFault } from "./planted-fault.ts";

/** Processes that look healthy and are not. */
export const healthFaults: readonly PlantedFault[] = [
  {
    id: "ready-with-wrong-clock",
    description: "A server with a wrong clock stays ready.",
    file: "server/src/app/reports.ts",
    find: '(await connections.check("running")) ?? clock.lastFault()',
    replace: '(await connections.check("running"))',
    tests: ["server/test/stories/clock.test.ts"],
    caughtBy:
      "a server whose clock is wrong by more than a minute is not ready, and operators see it from five seconds on",
  },
  {
    id: "stopped-worker-looks-crashed",
    description: "A worker that stops leaves its report, like one that crashes.",
    file: "server/src/jobs/create-worker.ts",
    find: "      await reports?.close();\n",
    replace: "",
    tests: ["server/test/processes/worker-reports.test.ts"],
    caughtBy: "a worker reports its tasks while it runs; one that crashes is counted, and one that stops is not",
  },
];
