import type { Entry, EntryKind, Run } from "@pennyblack/sdk";
import { type Command, Option } from "commander";
import { addExamples } from "./add-examples.ts";
import { addLimit, addOptions } from "./common-options.ts";
import type { CommonOptions, Context } from "./context.ts";
import { formatRest } from "./format-key.ts";
import { takeItems } from "./take-items.ts";
import { formatTime, sanitize, table } from "./terminal.ts";

interface EntriesOptions extends CommonOptions {
  requestId?: string;
  kind?: EntryKind;
  from?: string;
  to?: string;
  limit: number;
}

type RunsOptions = CommonOptions & { from?: string; limit: number };

// As the keys of an object, because the compiler then reports a missing kind.
const entryKinds: Record<EntryKind, true> = {
  search: true,
  refund: true,
  top_up: true,
  credit: true,
  reversal: true,
  reinstatement: true,
  settlement: true,
  correction: true,
  payout: true,
  breakage: true,
  transfer_out: true,
  transfer_in: true,
};

export function addEntryCommands(program: Command, context: Context): void {
  const entries = program
    .command("entries")
    .description("list charges, refunds and top-ups, newest first")
    .option("--request-id <id>", "only the charge and refund of this search")
    .addOption(new Option("--kind <kind>", "only entries of this kind").choices(Object.keys(entryKinds)))
    .option("--from <time>", "start date or time, such as 2026-11-01")
    .option("--to <time>", "end date or time (exclusive)");
  addOptions(addLimit(entries)).action((options: EntriesOptions) => printEntries(options, context));
  addExamples(entries, [
    "pennyblack entries",
    "pennyblack entries --request-id 019a8e7c-31f5-7cc2-8a56-3f1c9d2b7e10",
    "pennyblack entries --kind refund --from 2026-11-01 --json",
  ]);
  const runs = program
    .command("runs")
    .description("list runs that are open or ended within the last hour, newest first")
    .option("--from <time>", "only runs started since this date or time");
  addOptions(addLimit(runs)).action((options: RunsOptions) => printRuns(options, context));
  addExamples(runs, ["pennyblack runs", "pennyblack runs --from 2026-11-16T08:00:00Z --limit 5"]);
}

async function printEntries(options: EntriesOptions, { connect, print }: Context): Promise<void> {
  const { requestId, kind, from, to, json } = options;
  const filters = { ...(requestId && { requestId }), ...(kind && { kind }), ...(from && { from }), ...(to && { to }) };
  const client = connect("manage", options);
  const { items: entries } = await takeItems((limit) => client.entries({ ...filters, limit }), options.limit);
  if (json) return print(JSON.stringify({ entries }));
  print(entries.length === 0 ? describeNoEntries(requestId) : formatEntries(entries));
}

function describeNoEntries(requestId: string | undefined): string {
  if (requestId === undefined) return "No entries.";
  return "No entries. The search was not charged, unless it was sent less than a minute ago.";
}

function formatEntries(entries: readonly Entry[]): string {
  const rows = entries.map(({ created_at, kind, amount, balance, request_id }) => [
    formatTime(created_at),
    kind,
    amount,
    balance ?? "",
    request_id ?? "",
  ]);
  return table([["TIME", "KIND", "USD", "BALANCE", "REQUEST"], ...rows]);
}

async function printRuns(options: RunsOptions, { connect, print }: Context): Promise<void> {
  const { from, json } = options;
  const client = connect("manage", options);
  const { items: runs } = await takeItems((limit) => client.runs.list({ ...(from && { from }), limit }), options.limit);
  if (json) return print(JSON.stringify({ runs }));
  print(runs.length === 0 ? "No runs are open, and none ended within the last hour." : formatRuns(runs));
}

function formatRuns(runs: readonly Run[]): string {
  const rows = runs.map(({ run, searches, spent, limit, first_at, expires_at }) => [
    sanitize(run),
    String(searches),
    spent,
    formatRest({ limit, spent }),
    limit,
    formatTime(first_at),
    formatTime(expires_at),
  ]);
  return table([["RUN", "SEARCHES", "SPENT", "LEFT", "MAX", "STARTED", "ENDS"], ...rows]);
}
