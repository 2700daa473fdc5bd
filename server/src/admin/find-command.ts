import { formatTable } from "../lib/format-table.ts";
import { type ChangeLine, find, formatFound, readChanges, recordView } from "../operator/operator.ts";
import { type Command, type CommandContext, CommandFailed, UsageError } from "./command.ts";
import { readId, readOptionalCount, readOptionalText, readOptionalTime, readText } from "./read-values.ts";

export const findCommand: Command = {
  role: "operator",
  changes: true,
  summary:
    "Find a request, wallet, key or account by Request-Id, another id, the start of a key, an email address or a part of a name. With a time or an outcome, also list the searches. The audit log records the look-up.",
  required: ["--text <text>"],
  options: ["--from <time>", "--to <time>", "--outcome <outcome>", "--json"],
  run: runFind,
};

/** `npm run admin -- wallet changes` */
export const changesCommand: Command = {
  role: "operator",
  changes: true,
  summary:
    "List what operators, members, keys and the system changed, newest first. The audit log records the look-up.",
  required: ["--wallet <id>"],
  options: ["--limit <n>", "--json"],
  run: listChanges,
};

async function runFind({ values, pool, print, act }: CommandContext): Promise<void> {
  const found = await find(pool, act, {
    text: readText(values, "text"),
    from: readOptionalTime(values, "from"),
    to: readOptionalTime(values, "to"),
    outcome: readOutcome(values),
  });
  print(values["json"] ? JSON.stringify(found) : formatFound(found));
}

function readOutcome(values: CommandContext["values"]): string | undefined {
  const outcome = readOptionalText(values, "outcome");
  if (outcome !== undefined && !/^[a-z_]{1,64}$/.test(outcome))
    throw new UsageError("--outcome must be ok, failed, replayed or a problem code.");
  return outcome;
}

async function listChanges({ values, pool, print, act }: CommandContext): Promise<void> {
  const walletId = readId(values, "wallet");
  if (!(await recordView(pool, act, walletId))) throw new CommandFailed(`No wallet has the id ${walletId}.`);
  const changes = await readChanges(pool, { walletId, limit: readOptionalCount(values, "limit") ?? 50 });
  if (values["json"]) return print(JSON.stringify(changes.map((line) => ({ ...line, number: Number(line.number) }))));
  print(formatTable(changes.map(toCells), ["time", "by", "change", "subject", "before", "after", "reason"]));
}

function toCells({ at, actor, by, act, subject, before, after, reason }: ChangeLine): string[] {
  const values = (given: Record<string, unknown> | null): string => (given ? JSON.stringify(given) : "");
  const who = by === null ? actor : `${actor} ${by}`;
  return [at.toISOString(), who, act, subject, values(before), values(after), reason ?? ""];
}
