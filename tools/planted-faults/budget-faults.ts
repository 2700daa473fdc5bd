import type { PlantedFault } from "./planted-fault.ts";

const stories = ["stories/shared-budgets.test"];
const budgets = "server/sql/budgets.sql";

export const budgetFaults: readonly PlantedFault[] = [
  {
    id: "archives-budget-in-use",
    description: "a budget that a key names is archived, and the key loses its limit",
    file: budgets,
    find: "k.limits_id = l.limits_id and k.revoked_at is null\n    where l.budget_id = p_budget",
    replace: "k.limits_id = l.limits_id and k.revoked_at is not null\n    where l.budget_id = p_budget",
    tests: stories,
    caughtBy: "a budget that a key names cannot be archived until the key is changed or revoked",
  },
  {
    id: "key-names-archived-budget",
    description: "a new key names an archived budget, which is deleted an hour later",
    file: budgets,
    find: "and b.name is not null\n        and b.archived_at is null\n",
    replace: "and b.name is not null\n",
    tests: stories,
    caughtBy: "a key names up to eight budgets of its wallet and mode, and shows them with what is left",
  },
  {
    id: "week-starts-on-sunday",
    description: "a week ends on Sunday instead of Monday",
    file: "server/sql/hold.sql",
    find: "interval '7 days') at time zone 'utc'",
    replace: "interval '6 days') at time zone 'utc'",
    tests: ["test/ledger-model/ledger-model.test"],
    caughtBy: "a batch decides like its items one by one, and every row matches the model",
  },
  {
    id: "lowered-budget-keeps-window",
    description: "a changed amount of a shared budget does not apply to its open window",
    file: budgets,
    find: "update pb.budget_windows w set limit_micros = p_amount",
    replace: "update pb.budget_windows w set limit_micros = w.limit_micros",
    tests: ["test/ledger-model/ledger-model.test"],
    caughtBy: "a batch decides like its items one by one, and every row matches the model",
  },
  {
    id: "apps-with-own-budgets",
    description: "each connected app of a person has a daily budget of its own",
    file: "server/sql/apps.sql",
    find: "    pb.find_app_limits(v_person, s.wallet_id),\n",
    replace: "    null,\n",
    tests: ["stories/mcp-oauth.test"],
    caughtBy: "the apps of a person share one daily budget",
  },
];
