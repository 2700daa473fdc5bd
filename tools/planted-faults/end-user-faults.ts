import type { PlantedFault } from "./planted-fault.ts";

const hold = "server/sql/hold.sql";
const tests = ["stories/end-users.test"];

export const endUserFaults: readonly PlantedFault[] = [
  {
    id: "end-user-limit-not-checked",
    description: "a limit per end user is not checked",
    file: hold,
    find: "elsif end_user_taken[end_user_number] + pb.price_micros() > limit_micros then",
    replace: "elsif false then",
    tests,
    caughtBy:
      "50 concurrent searches on two servers with a limit of 0.10 per end user: ten are charged, for each end user",
  },
  {
    id: "end-user-omitted",
    description: "a search without an end user avoids the limit",
    file: hold,
    find: "      if i.end_user is null then\n",
    replace: "      if i.end_user is null then\n        limit_micros := null;\n      elsif i.end_user = '' then\n",
    tests,
    caughtBy: "a key with a limit refuses searches without Search-For until the limit is removed",
  },
  {
    id: "end-user-not-credited-back",
    description: "a failed search is not credited back to its end user",
    file: "server/sql/release.sql",
    find: "update pb.end_user_budgets e set spent_micros = e.spent_micros - back.micros",
    replace: "update pb.end_user_budgets e set spent_micros = e.spent_micros",
    tests,
    caughtBy: "a failed search returns its amount, and a replay does not count",
  },
  {
    id: "end-user-id-in-plain-text",
    description: "the ids of end users are stored in plain text",
    file: "server/src/wallet/end-users.ts",
    find: "if (endUsers?.storesPlainIds) return id;",
    replace: "if (!endUsers?.storesPlainIds) return id;",
    tests,
    caughtBy: "an id is nowhere in the database unless the owner chooses to store plain ids",
  },
];
