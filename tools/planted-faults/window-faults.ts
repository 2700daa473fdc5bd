import type { PlantedFault } from "./planted-fault.ts";

const hold = "server/sql/hold.sql";
const statements = "src/wallet/statements.test";
const model = "test/ledger-model/ledger-model.test";

export const windowFaults: readonly PlantedFault[] = [
  {
    id: "window-not-credited-back",
    description: "a failed search is not credited back to its windows",
    file: "server/sql/release.sql",
    find: "set spent_micros = w.spent_micros - cardinality(array_positions(windows, w.id)) * pb.price_micros()",
    replace: "set spent_micros = w.spent_micros",
    tests: [model],
    caughtBy: "a batch decides like its items one by one, and every row matches the model",
  },
  {
    id: "test-search-spends-live-run",
    description: "a test search spends a live run",
    file: hold,
    find: "select w.id, w.wallet_id, w.mode, w.budget_id,",
    replace: "select w.id, w.wallet_id, 'live'::pb.key_mode, w.budget_id,",
    tests: ["stories/budgets.test"],
    caughtBy: "a test key spends a run to its limit with play money, and the live run of that name is untouched",
  },
  {
    id: "release-applied-to-later-window",
    description: "a release after the end of a window is applied to the next one",
    file: hold,
    find: "id = excluded.id, limit_micros = excluded.limit_micros",
    replace: "id = b.id, limit_micros = excluded.limit_micros",
    tests: [statements],
    caughtBy: "a release after midnight is subtracted only from the day and month the search was counted in",
  },
  {
    id: "window-not-reset",
    description: "a window is not reset at its end",
    file: hold,
    find: ") w on w.resets_at is null or w.resets_at > now_at",
    replace: ") w on true",
    tests: [model],
    caughtBy: "a batch decides like its items one by one, and every row matches the model",
  },
  {
    id: "refused-item-opens-run",
    description: "an item that is refused opens its run, and sets the limit for the next item",
    file: hold,
    find: "    if outcome is null then\n      outcome := 'held';",
    replace:
      "    foreach n in array coalesce(numbers, '{}') loop\n" +
      "      spending[n].max_micros := coalesce(spending[n].max_micros, run_maxes[i.item]);\n    end loop;\n" +
      "    if outcome is null then\n      outcome := 'held';",
    tests: [model],
    caughtBy: "a batch decides like its items one by one, and every row matches the model",
  },
  {
    id: "window-counts-refused-item",
    description: "a window counts an item that another window refuses",
    file: hold,
    find: "    if outcome is null then\n      outcome := 'held';",
    replace:
      "    if outcome = 'run_budget_spent' and cardinality(numbers) > 1 then\n" +
      "      spending[numbers[1]].taken_micros := spending[numbers[1]].taken_micros + pb.price_micros();\n    end if;\n" +
      "    if outcome is null then\n      outcome := 'held';",
    tests: [statements],
    caughtBy: "a refused item does not use up balance or budget for later items of its batch",
  },
];
