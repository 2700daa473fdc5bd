import type { Activity, ActivityFilter } from "@pennyblack/sdk";
import { type Command, Option } from "commander";
import { addExamples } from "./add-examples.ts";
import { addLimit, addOptions } from "./common-options.ts";
import type { CommonOptions, Context } from "./context.ts";
import { findKeyId } from "./find-key.ts";
import { takeItems } from "./take-items.ts";
import { formatTime, sanitize, table } from "./terminal.ts";

interface ActivityOptions extends CommonOptions, Pick<ActivityFilter, "act" | "actor"> {
  key?: string;
  from?: string;
  to?: string;
  jsonl?: boolean;
  limit: number;
}

// As the keys of an object, because the compiler then reports a missing type.
const actors: Record<Activity["actor"]["type"], true> = { person: true, key: true, operator: true, system: true };

export function addActivityCommand(program: Command, context: Context): void {
  const activity = program
    .command("activity")
    .description("list who changed what, newest first")
    .option("--act <act>", "only this act, such as key.change, or all of a subject, such as key")
    .addOption(new Option("--actor <type>", "only changes by actors of this type").choices(Object.keys(actors)))
    .option("--key <key>", "only changes of this key (id or exact name)")
    .option("--from <time>", "start date or time, such as 2026-11-01")
    .option("--to <time>", "end date or time (exclusive)")
    .option("--jsonl", "print every line of the last 400 days as JSON Lines, oldest first");
  addOptions(addLimit(activity)).action((options: ActivityOptions) => printActivity(options, context));
  addExamples(activity, [
    "pennyblack activity --key crawler",
    "pennyblack activity --act member --from 2026-11-01",
    "pennyblack activity --jsonl > activity.jsonl",
  ]);
}

async function printActivity(options: ActivityOptions, { connect, print }: Context): Promise<void> {
  const { act, actor, key, from, to, limit, json, jsonl } = options;
  const client = connect("manage", options);
  const filter: ActivityFilter = {
    ...(act !== undefined && { act }),
    ...(actor !== undefined && { actor }),
    ...(key !== undefined && { subjectId: await findKeyId(client, key) }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
  };
  if (jsonl) return print((await client.activity.export(filter)).trimEnd());
  const { items } = await takeItems((pageSize) => client.activity.list({ ...filter, limit: pageSize }), limit);
  if (json) return print(JSON.stringify({ activity: items }));
  print(items.length === 0 ? "No changes." : formatActivity(items));
}

function formatActivity(lines: readonly Activity[]): string {
  const rows = lines.map(({ at, actor, summary, before, after }) => [
    formatTime(at),
    sanitize(actor.name ?? actor.type),
    sanitize(summary),
    sanitize(formatValues(before, after)),
  ]);
  return table([["TIME", "BY", "CHANGE", "VALUES"], ...rows]);
}

/** `budget_day 5.00 -> 7.50, name agent` */
function formatValues(before: Activity["before"], after: Activity["after"]): string {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  const text = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value ?? null));
  return names.map((name) => `${name} ${before ? `${text(before[name])} -> ` : ""}${text(after?.[name])}`).join(", ");
}
