import type { PlantedFault } from "./planted-fault.ts";

const splitBrain = "src/wallet/split-brain.test";
const openConnection = "an open connection to the old primary changes nothing after another one has seen the promotion";

export const timelineFaults: PlantedFault[] = [
  {
    description: "the database does not compare timelines",
    file: "server/sql/timeline.sql",
    find: "if own_timeline < min_timeline then",
    replace: "if false then",
    tests: [splitBrain],
    caughtBy: openConnection,
  },
  {
    description: "a new connection to an old primary is accepted",
    file: "server/src/db/fence.ts",
    find: "if (latest && timeline < latest.timeline)",
    replace: "if (latest && timeline < 0)",
    tests: ["src/db/find-primary.test"],
    caughtBy: "refuses an earlier timeline than one already seen, and another system identifier",
  },
  {
    description: "an operator's change is made on an old primary",
    file: "server/src/db/query-fenced.ts",
    find: "[...values, minTimelineOf(db)]",
    replace: "[...values, null]",
    tests: [splitBrain],
    caughtBy: openConnection,
  },
  {
    description: "a shared timeline with a wrong signature is accepted",
    file: "server/src/db/share-timeline.ts",
    find: "return isSigned ? {",
    replace: "return isSigned !== undefined ? {",
    tests: ["src/db/share-timeline.test"],
    caughtBy: "a value that was not signed with the secret is ignored and replaced",
  },
  {
    description: "a replica's timeline is ignored",
    file: "server/src/db/find-primary.ts",
    find: 'if (role === "replica" &&',
    replace: 'if (role === "unreachable" &&',
    tests: ["src/db/find-primary.test"],
    caughtBy: "refuses an earlier timeline than one that a replica knows of",
  },
  {
    description: "one responding host of three is enough",
    file: "server/src/db/find-primary.ts",
    find: "Math.ceil(urls.length / 2)",
    replace: "Math.floor(urls.length / 3)",
    tests: ["src/db/find-primary.test"],
    caughtBy: "uses a primary only if half of the hosts respond",
  },
];
