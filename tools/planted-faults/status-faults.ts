import type { PlantedFault } from "./planted-fault.ts";

const story = ["stories/status.test"];

export const statusFaults: PlantedFault[] = [
  {
    id: "status-counts-test-searches",
    description: "test searches, which cost nothing, change the availability on the status page",
    file: "server/sql/status.sql",
    find: "where u.day >= since and u.mode = 'live'",
    replace: "where u.day >= since",
    tests: story,
    caughtBy: "availability and response time are those that the owners read in their usage",
  },
  {
    id: "status-adds-twice",
    description: "each run adds the usage of the last days again",
    file: "server/sql/status.sql",
    find: "do update set requests = excluded.requests where",
    replace: "do update set requests = s.requests + excluded.requests where",
    tests: story,
    caughtBy: "a request that usage counts late is added, and none is counted twice",
  },
  {
    id: "status-times-of-released-searches",
    description: "failed searches count in the response times",
    file: "server/sql/usage.sql",
    find: "and s.state = 'captured' and s.mode = 'live'",
    replace: "and s.mode = 'live'",
    tests: ["stories/roll-up"],
    caughtBy: "usage equals the count of the searches, regardless of the steps of the roll-up",
  },
  {
    id: "status-reads-per-request",
    description: "each request for the status page reads the database",
    file: "server/src/status/status-routes.ts",
    find: "const maxAgeMs = 60_000;",
    replace: "const maxAgeMs = 0;",
    tests: ["status/status-routes"],
    caughtBy: "a thousand requests within a minute read the database once",
  },
  {
    id: "status-blames-callers",
    description: "a search that no server ended does not lower the availability",
    file: "server/src/status/summarize-status.ts",
    find: 'outcome === "expired" || outcome',
    replace: "outcome",
    tests: ["status/summarize"],
    caughtBy: "requests rejected because of the caller do not count, and failures of providers are not our own",
  },
  {
    id: "incident-without-subscription",
    description: "an incident is an event for wallets whose endpoints do not subscribe to it",
    file: "server/sql/status.sql",
    find: "where w.disabled_at is null and 'service.incident' = any (w.events) order by",
    replace: "where w.disabled_at is null order by",
    tests: story,
    caughtBy: "an incident is shown, recorded, and sent to the wallets subscribed to it",
  },
];
