import type { PlantedFault } from "./planted-fault.ts";

const tests = ["stories/activity.test"];

export const activityFaults: PlantedFault[] = [
  {
    id: "owner-change-without-record",
    description: "a change of the alerts has no line in the activity",
    file: "server/sql/wallets.sql",
    find: "perform pb.record_own_change(\n    p_actor, 'alerts.change', w.id::text,",
    replace: "perform concat(\n    p_actor, 'alerts.change', w.id::text,",
    tests,
    caughtBy: "a change with a key has its line in the activity",
  },
  {
    id: "activity-for-search-keys",
    description: "a search key that reads the balance reads who changed what",
    file: "server/src/activity/activity-routes.ts",
    find: 'const scope = "activity:read";',
    replace: 'const scope = "wallet:read";',
    tests,
    caughtBy: "activity requires activity:read, which no search key can have",
  },
  {
    id: "names-any-person",
    description: "a wallet can find out the address of a person of another account",
    file: "server/sql/changes.sql",
    find: "where (c.actor_id = p.id or c.subject = p.id::text) and c.visibility = 'owner'",
    replace: "where c.visibility = 'owner'",
    tests,
    caughtBy: "lines older than 400 days are not listed, and a person of another account is not named",
  },
  {
    id: "key-shows-its-creator",
    description: "the holder of a search key reads the address of the person who created it",
    file: "server/src/keys/serialize-key.ts",
    find: "    created_by: null,\n",
    replace: "",
    tests,
    caughtBy: "a key shows the person who created it to managers, and not to its holder",
  },
];
