import type { PlantedFault } from "./planted-fault.ts";

const hours = "server/sql/hours.sql";
const closing = "src/wallet/upkeep/close-hours.test";
const hourly = "src/wallet/upkeep/reconcile-hours.test";
const appendOnly = "src/wallet/append-only.test";

export const hourFaults: PlantedFault[] = [
  {
    description: "an hour is closed while an older transaction is running",
    file: hours,
    find: "or pg_snapshot_xmin(pg_current_snapshot()) < w.closing_xid then",
    replace: "then",
    tests: [closing],
    caughtBy:
      "an hour is closed after transactions that began before its announcement, however long their commit hangs",
  },
  {
    description: "an hour is closed while a transaction that overlaps its announcement is running",
    file: hours,
    find: "set closing_xid = pg_current_xact_id();",
    replace: "set closing_xid = pg_snapshot_xmax(pg_current_snapshot());",
    tests: [closing],
    caughtBy: "an hour waits for a transaction that began while its announcement was being committed",
  },
  {
    description: "an entry gets a time in an hour that was announced",
    file: hours,
    find: "greatest(clock_timestamp(), w.closed_before, w.closing_before)",
    replace: "greatest(clock_timestamp(), w.closed_before)",
    tests: [closing],
    caughtBy:
      "an hour is closed after transactions that began before its announcement, however long their commit hangs",
  },
  {
    description: "a clock that is set back writes into a closed hour",
    file: hours,
    find: "greatest(clock_timestamp(), w.closed_before, w.closing_before)",
    replace: "clock_timestamp()",
    tests: [closing],
    caughtBy: "a new entry is never stamped with a time in a closed hour, although the clock was set back",
  },
  {
    description: "an hour is closed while a hold of it is pending",
    file: hours,
    find: "when s.settled_before < w.closed_before + interval '1 hour' then 'sweep'",
    replace: "when false then 'sweep'",
    tests: [closing],
    caughtBy: "an hour waits for the watermarks of the sweeper and of usage",
  },
  {
    description: "an hour is announced as soon as it ends",
    file: hours,
    find: "date_trunc('hour', p_now - interval '15 minutes', 'utc')",
    replace: "date_trunc('hour', p_now, 'utc')",
    tests: [closing],
    caughtBy: "an hour is not announced until 15 minutes after its end",
  },
  {
    description: "a digest does not depend on the previous one",
    file: hours,
    find: "coalesce(c.digest, decode(repeat('00', 32), 'hex'))",
    replace: "decode(repeat('00', 32), 'hex')",
    tests: [closing],
    caughtBy: "closed hours chain a digest per wallet, and their sums are the checkpoint",
  },
  {
    description: "the day of a budget's checkpoint includes earlier days",
    file: hours,
    find: "case when c.day = excluded.day then c.day_micros else 0 end",
    replace: "c.day_micros",
    tests: [closing],
    caughtBy: "the sums of a budget are those of all closed hours, and of the last day and month with a search",
  },
  {
    description: "an hour with differences is closed",
    file: "server/src/wallet/upkeep/close-hours.ts",
    find: 'if (found.some(({ differing }) => differing > 0)) return { closed, state: "differs", checks };',
    replace: "",
    tests: [hourly],
    caughtBy: "an hour that does not verify stays open until its difference is resolved",
  },
  {
    description: "two hourly passes run at once",
    file: "server/src/wallet/upkeep/reconcile-hours.ts",
    find: "if (!rows[0]?.is_free) return undefined;",
    replace: "if (!rows[0]) return undefined;",
    tests: [hourly],
    caughtBy: "a run returns at once while another is active",
  },
  {
    description: "an entry added to a closed hour is not counted",
    file: "server/src/wallet/upkeep/hour-checks.ts",
    find: "select h.hour, h.entries, coalesce(t.entries, 0)",
    replace: "select h.hour, h.entries, h.entries",
    tests: [hourly],
    caughtBy: "an entry that appears in a closed hour is reported and not included",
  },
  {
    description: "a partition of the ledger can be truncated",
    file: "server/sql/partitions.sql",
    find: "if parent = 'transfers' then",
    replace: "if false then",
    tests: [appendOnly],
    caughtBy: "ledger tables and their partitions reject UPDATE, DELETE and TRUNCATE, also by their owner",
  },
  {
    description: "the state of a reversal can move backwards",
    file: "server/sql/reversals.sql",
    find: ">= array_position(array['taken', 'lost', 'returned'], old.state)",
    replace: "is not null",
    tests: [appendOnly],
    caughtBy: "a reversal only moves forward",
  },
  {
    description: "the root of a closed hour can be replaced",
    file: hours,
    find: "and new.root is not distinct from coalesce(old.root, new.root)",
    replace: "",
    tests: [appendOnly],
    caughtBy: "the root and signature of a closed hour are filled in once",
  },
  {
    description: "a day is archived before its hours are closed",
    file: "server/sql/retention.sql",
    find: "when (select w.closed_before from pb.ledger_watermark w) <",
    replace: "when (select w.closed_before from pb.ledger_watermark w) is null and now() <",
    tests: ["src/wallet/upkeep/retention.test"],
    caughtBy: "refuses to close a day that is too young, has unsettled rows or is not fully archived",
  },
];
