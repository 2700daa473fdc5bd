import type { PlantedFault } from "./planted-fault.ts";

const costCaps = "server/src/limits/cost-caps.ts";
const spending = "server/src/limits/spending.ts";
const costCapTests = ["stories/cost-cap-counts.test"];

/** The operator's limits of what upstreams may cost. */
export const capFaults: readonly PlantedFault[] = [
  {
    id: "capped-upstream-called",
    description: "an upstream that has reached its cost cap is called",
    file: "server/src/search/upstream-state.ts",
    find: "cappedFor() !== undefined || circuits.some(",
    replace: "circuits.some(",
    tests: ["src/search/routing.test"],
    caughtBy: "an upstream that has reached its cost cap is not called, and the next one answers",
  },
  {
    id: "cap-per-server",
    description: "each server has the whole cost cap for itself",
    file: costCaps,
    find: "`pb:cost:${database}:",
    replace: "`pb:cost:${server}:",
    tests: costCapTests,
    caughtBy: "a cap counts what all servers spent, and each learns it with its next call or refresh",
  },
  {
    id: "cost-counted-again",
    description: "a cost whose acknowledgement was lost counts again",
    file: spending,
    find: "if redis.call('hget', KEYS[1], server) ~= batch then total = total + cost end",
    replace: "total = total + cost",
    tests: costCapTests,
    caughtBy: "a cost counts once if the reply of Redis is lost, and not never if it was not sent",
  },
  {
    id: "cost-before-cap-forgotten",
    description: "a cost cap ignores what the usage counts have, so it is unlimited without Redis",
    file: spending,
    find: "total: () => max(shared + sending + unsent, counted),",
    replace: "total: () => shared + sending + unsent,",
    tests: costCapTests,
    caughtBy: "without Redis the counts of usage apply, and they restore what Redis has lost",
  },
  {
    id: "cost-of-sent-call-not-capped",
    description: "calls do not count against the cost cap",
    file: "server/src/search/routing.ts",
    find: "      caps.recordCost(provider.name, cost);\n",
    replace: "",
    tests: ["src/search/routing.test"],
    caughtBy: "reports state, latency, money and last failure of each upstream",
  },
];
