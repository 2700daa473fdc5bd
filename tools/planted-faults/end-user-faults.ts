import type { PlantedFault } from "./planted-fault.ts";

const hold = "server/sql/hold.sql";
const tests = ["stories/end-users.test"];

export const endUserFaults: readonly PlantedFault[] = [
  {
    id: "end-user-limit-not-checked",
    description: "a limit per end user is not checked",
    file: hold,
    find: "when full_window.kind = 'end_user' then 'end_user_budget_spent'",
    replace: "when full_window.kind = 'end_user' then null",
    tests,
    caughtBy:
      "50 concurrent searches on two servers with a limit of 0.10 per end user: ten are charged, for each end user",
  },
  {
    id: "end-user-omitted",
    description: "a search without an end user avoids the limit",
    file: hold,
    find: "case when g.per_end_user then b.end_user else '' end as subject",
    replace: "case when g.per_end_user then coalesce(b.end_user, '') else '' end as subject",
    tests,
    caughtBy: "a key with a limit refuses searches without Search-For until the limit is removed",
  },
  {
    id: "end-user-not-credited-back",
    description: "a failed search is not credited back to its end user",
    file: "server/sql/release.sql",
    find: "set spent_micros = w.spent_micros - cardinality(array_positions(windows, w.id)) * pb.price_micros()",
    replace: "set spent_micros = w.spent_micros",
    tests,
    caughtBy: "a failed search returns its amount, and a replay does not count",
  },
  {
    id: "end-user-id-in-plain-text",
    description: "the ids of end users are stored in plain text",
    file: "server/src/wallet/end-users.ts",
    find: "return caller.storesPlainEndUsers ? id",
    replace: "return !caller.storesPlainEndUsers ? id",
    tests,
    caughtBy: "an id is nowhere in the database unless the owner chooses to store plain ids",
  },
  {
    id: "test-end-users-unlimited",
    description: "a free test key can add any number of end users to the usage of its wallet",
    file: "server/src/app/search-app.ts",
    find: 'if (caller.mode === "test") await limitTestEndUsers(caller.walletId, stored);',
    replace: "if (caller.walletId === stored) await limitTestEndUsers(caller.walletId, stored);",
    tests,
    caughtBy: "test keys of a wallet name a limited number of end users per day, and live keys any number",
  },
  {
    id: "test-end-users-of-each-server",
    description: "each server counts the end users of test keys on its own",
    file: "server/src/limits/test-end-users.ts",
    find: "const addShared = redis && createRedisSets(redis, max);",
    replace: "const addShared = undefined;",
    tests: ["stories/test-end-users.test"],
    caughtBy: "the test keys of a wallet can name a limited number of end users per day, counted by all servers",
  },
];
