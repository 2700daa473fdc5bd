import type { PlantedFault } from "./planted-fault.ts";

const tests = ["stories/request-figures.test"];

export const countingFaults: PlantedFault[] = [
  {
    id: "refused-tool-calls-not-counted",
    description: "a request to /mcp with a revoked, expired or unknown key is in no figure",
    file: "server/src/mcp/mcp.ts",
    find: "    recordRefusal(request, found, error);\n",
    replace: "",
    tests,
    caughtBy: "the figures of the server count every request while it is sent",
  },
  {
    id: "playground-refusals-without-key",
    description: "a refusal in the playground is not counted for its key",
    file: "server/src/app/console-app.ts",
    find: "authenticate((found) => void (facts.caller = found))",
    replace: "authenticate(() => undefined).then((found) => (facts.caller = found))",
    tests,
    caughtBy: "the metrics count every request by kind, outcome and mode",
  },
  {
    id: "unlisted-requests-not-counted",
    description: "refusals and replays beyond the limits of the list are not counted",
    file: "server/src/usage/tally.ts",
    find: "if (!requests.add(request)) countUnheld(request);",
    replace: "requests.add(request);",
    tests,
    caughtBy: "the list has as many, with those that it counts but does not list",
  },
  {
    id: "listed-requests-not-counted",
    description: "refusals and replays that are listed are not counted",
    file: "server/sql/usage.sql",
    find: "  perform pb.count_unheld(stored);\n",
    replace: "",
    tests,
    caughtBy: "usage, its chart and its CSV have the same numbers of each outcome",
  },
  {
    id: "replays-counted-as-refusals",
    description: "replays are also counted as refusals",
    file: "server/src/usage/count-columns.ts",
    find: "not was_held and outcome <> 'replayed'",
    replace: "not was_held",
    tests,
    caughtBy: "the summary and the hours of its chart have the same numbers",
  },
  {
    id: "refusals-counted-as-searches",
    description: "refusals are counted as searches",
    file: "server/src/usage/count-columns.ts",
    find: "sum(searches) filter (where was_held)",
    replace: "sum(searches)",
    tests,
    caughtBy: "the summary and the hours of its chart have the same numbers",
  },
];
