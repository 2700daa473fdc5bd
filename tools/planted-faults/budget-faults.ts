import type { PlantedFault } from "./planted-fault.ts";

const stories = ["stories/shared-budgets.test"];
const warnings = ["stories/budget-warnings.test"];
const model = ["test/ledger-model/ledger-model.test"];
const events = "server/sql/events.sql";
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
    tests: model,
    caughtBy: "a batch decides like its items one by one, and every row matches the model",
  },
  {
    id: "lowered-budget-keeps-window",
    description: "a changed amount of a shared budget does not apply to its open window",
    file: budgets,
    find: "update pb.budget_windows w set limit_micros = p_amount",
    replace: "update pb.budget_windows w set limit_micros = w.limit_micros",
    tests: model,
    caughtBy: "a batch decides like its items one by one, and every row matches the model",
  },
  {
    id: "run-above-key-limit",
    description: "a caller names a larger budget for its run than its key allows",
    file: "server/src/lib/max-run.ts",
    find: "runMax <= maxRun.maxMicros",
    replace: "runMax <= 2n * maxRun.maxMicros",
    tests: ["stories/max-run.test"],
    caughtBy: "a search cannot name a larger budget for its run than its key allows, and is not charged",
  },
  {
    id: "required-run-omitted",
    description: "a search without a run is accepted although its key requires one",
    file: "server/src/lib/max-run.ts",
    find: "return maxRun.isRequired ? `is required",
    replace: "return maxRun.isRequired && maxRun.maxMicros === 0n ? `is required",
    tests: ["stories/max-run.test"],
    caughtBy: "a key that requires a run rejects searches without one, on every endpoint",
  },
  {
    id: "rotation-drops-max-run",
    description: "a rotated key has no limit for the budgets of runs",
    file: "server/sql/keys.sql",
    find: "k.compat, k.sources, k.max_run, old_id);",
    replace: "k.compat, k.sources, null, old_id);",
    tests: ["stories/max-run.test"],
    caughtBy: "the limit can be changed and removed, and a rotated key keeps it",
  },
  {
    id: "warning-repeated-in-window",
    description: "a warning is repeated when spending falls and reaches its percentage again",
    file: "server/sql/release.sql",
    find: "set spent_micros = w.spent_micros - cardinality(array_positions(windows, w.id)) * pb.price_micros()",
    replace:
      "set spent_micros = w.spent_micros - cardinality(array_positions(windows, w.id)) * pb.price_micros(),\n" +
      "      next_alert_micros = 0, alerted_percent = 0",
    tests: warnings,
    caughtBy: "failed searches that give back and reach the percentage again send no second warning",
  },
  {
    id: "warning-not-advanced",
    description: "every search above a percentage of its budget sends the warning again",
    file: events,
    find: "alerted_percent = warned where w.id = new.id",
    replace: "alerted_percent = w.alerted_percent where w.id = new.id",
    tests: warnings,
    caughtBy: "500 parallel searches of two servers around the thresholds, half of which fail, send each warning once",
  },
  {
    id: "warning-skips-percentage",
    description: "a search that reaches several percentages sends only the highest warning",
    file: events,
    find: "select a from unnest(b.alerts) a where a > new.alerted_percent order by a loop",
    replace: "select a from unnest(b.alerts) a where a > new.alerted_percent order by a desc limit 1 loop",
    tests: warnings,
    caughtBy: "a search that reaches several percentages warns about each",
  },
  {
    id: "warned-for-one-window-only",
    description: "the warnings of a budget are not sent again in its next period",
    file: "server/sql/hold.sql",
    find: "alerted_percent = case when b.id = excluded.id then b.alerted_percent else 0 end",
    replace: "alerted_percent = b.alerted_percent",
    tests: warnings,
    caughtBy: "a warning is sent when a percentage is reached, with the amounts, and again in the next period only",
  },
  {
    id: "warning-for-lowered-budget-missing",
    description: "a percentage that is reached because the amount was lowered sends no warning",
    file: budgets,
    find: "  set limit_micros = p_amount, next_alert_micros = case",
    replace: "  set limit_micros = p_amount, next_alert_micros = case when true then w.next_alert_micros",
    tests: warnings,
    caughtBy: "a changed amount or percentage warns at once if it is reached, and repeats no percentage",
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
